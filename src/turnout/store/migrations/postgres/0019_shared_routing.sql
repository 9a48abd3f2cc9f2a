-- The routing rules that every orchestrator on this database decides by. Without a config each has those of its
-- configuration. A change takes the next revision of definitions, so that whatever follows these learns of it.
create table shared_routing (
    id integer primary key check (id = 1),
    version integer not null,
    config text,
    updated_at double precision,
    updated_by text
);
insert into shared_routing (id, version) values (1, 0);
