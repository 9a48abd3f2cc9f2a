-- Why a command was closed without being carried out; null: it was carried out, or is open.
alter table command add column refusal text;
