-- The sizes that the workflows of orchestrators declare, by the place of the declaration. Where the configuration has none, the
-- smallest is in force, whether or not anything of that workflow is open. One that no orchestrator confirms is dropped later.
create table limit_declaration (
    workflow text not null,
    declared text not null,
    place text not null,
    at_most integer,
    rate integer,
    per real not null,
    confirmed_at real not null,
    primary key (workflow, declared, place)
) strict;
create index limit_declaration_of on limit_declaration (declared);
