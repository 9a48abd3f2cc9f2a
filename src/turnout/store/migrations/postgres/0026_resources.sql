-- What the newest attempt of a task asks of its executor, as JSON text.
alter table task add column resources text;
