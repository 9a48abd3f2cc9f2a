-- Numbers for runs whose handlers know runs by integers. They are given when first needed, and never again to another run.
create table run_number (
    number integer primary key autoincrement,
    run_id text not null unique
) strict;
