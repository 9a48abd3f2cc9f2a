-- A size that an uploaded definition declares counts only if nothing else declares the limit.
alter table limit_declaration add column uploaded integer not null default 0;
