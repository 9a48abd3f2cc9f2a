-- Numbers for runs whose handlers know runs by integers. They are given when first needed, and never again to another run.
create table run_number (
    number bigint generated always as identity primary key,
    run_id uuid not null unique
);
