-- The public key of the connection that a worker's session belongs to; empty: its hub had no keys. Null, on sessions that
-- are older than this column: the next key that comes with the worker_id.
alter table session add column key text;
