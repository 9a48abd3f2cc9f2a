-- What a task carries over its attempts (saved by Defer, the condition it waits for) and what a branch chose: JSON.
alter table task add column memo text;
