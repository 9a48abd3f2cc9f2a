CREATE FUNCTION public.refuse_move() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    raise exception 'illegal move of % %: % (attempt %) to % (attempt %)', tg_table_name,
        coalesce(to_jsonb(old) ->> 'id', concat(to_jsonb(old) ->> 'run_id', '.', to_jsonb(old) ->> 'pos')),
        old.state, to_jsonb(old) ->> 'attempt', new.state, to_jsonb(new) ->> 'attempt'
        using errcode = 'check_violation';
end $$;
CREATE TABLE public.command (
    id bigint NOT NULL,
    run_id uuid NOT NULL,
    kind text NOT NULL,
    reason text,
    created_at double precision NOT NULL,
    done_at double precision,
    refusal text
);
ALTER TABLE public.command ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.command_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.duty (
    name text NOT NULL,
    session text NOT NULL,
    begun_at double precision NOT NULL
);
CREATE TABLE public.history (
    run_id uuid NOT NULL,
    seq integer NOT NULL,
    part smallint DEFAULT 0 NOT NULL,
    at double precision NOT NULL,
    pos integer NOT NULL,
    old text,
    new text NOT NULL,
    attempt integer NOT NULL,
    detail text
);
CREATE TABLE public.inbox (
    id bigint NOT NULL,
    run_id uuid NOT NULL,
    pos integer NOT NULL,
    attempt integer NOT NULL,
    holder text NOT NULL,
    result text NOT NULL,
    created_at double precision NOT NULL
);
ALTER TABLE public.inbox ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.inbox_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.log (
    id bigint NOT NULL,
    run_id uuid NOT NULL,
    pos integer NOT NULL,
    attempt integer NOT NULL,
    seq bigint NOT NULL,
    stream text NOT NULL,
    at double precision NOT NULL,
    text text NOT NULL
);
ALTER TABLE public.log ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.log_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.migration (
    number integer NOT NULL,
    checksum text NOT NULL,
    applied_at double precision NOT NULL
);
CREATE TABLE public.routing (
    number bigint NOT NULL,
    session text NOT NULL,
    config text NOT NULL,
    created_at double precision NOT NULL
);
ALTER TABLE public.routing ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.routing_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.run (
    id uuid NOT NULL,
    workflow text NOT NULL,
    version text NOT NULL,
    state text NOT NULL,
    owner text,
    epoch integer NOT NULL,
    seq integer NOT NULL,
    input text NOT NULL,
    input_digest text NOT NULL,
    key text,
    priority integer NOT NULL,
    timeout double precision,
    reason text,
    error text,
    rerun_of uuid,
    parent_run uuid,
    parent_pos integer,
    created_at double precision NOT NULL,
    submitted_at double precision NOT NULL,
    started_at double precision,
    finished_at double precision,
    parent_attempt integer DEFAULT 0 NOT NULL,
    depth integer DEFAULT 0 NOT NULL,
    CONSTRAINT run_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'running'::text, 'paused'::text, 'cancelling'::text, 'completed'::text, 'failed'::text, 'cancelled'::text])))
);
CREATE TABLE public.run_number (
    number bigint NOT NULL,
    run_id uuid NOT NULL
);
ALTER TABLE public.run_number ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.run_number_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.session (
    id text NOT NULL,
    kind text NOT NULL,
    host text NOT NULL,
    boot_id text NOT NULL,
    pid_namespace text NOT NULL,
    pid integer NOT NULL,
    process_started text NOT NULL,
    workflows text NOT NULL,
    health text,
    lease double precision NOT NULL,
    lease_until double precision NOT NULL,
    started_at double precision NOT NULL,
    ended_at double precision,
    drain text,
    key text
);
CREATE TABLE public.task (
    run_id uuid NOT NULL,
    pos integer NOT NULL,
    name text NOT NULL,
    state text NOT NULL,
    epoch integer NOT NULL,
    seq integer NOT NULL,
    priority integer NOT NULL,
    attempt integer NOT NULL,
    failures integer NOT NULL,
    crashes integer NOT NULL,
    losses integer NOT NULL,
    reason text,
    retry_at double precision,
    executor text,
    decision text,
    labels text,
    poll_key text,
    holder text,
    lease_until double precision,
    output text,
    error text,
    dispatched_at double precision,
    started_at double precision,
    finished_at double precision,
    memo text,
    item_of integer,
    item_index integer,
    CONSTRAINT task_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'ready'::text, 'running'::text, 'completed'::text, 'failed'::text, 'skipped'::text, 'cancelled'::text])))
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.2', autovacuum_vacuum_cost_delay='2');
CREATE TABLE public.workflow (
    version text NOT NULL,
    full_name text NOT NULL,
    number integer NOT NULL,
    spec text NOT NULL,
    created_at double precision NOT NULL,
    used_at double precision
);
INSERT INTO public.history VALUES ('01a1e941-f0f4-74c6-b9a2-5a999950d0b0', 0, 0, 1794914775.337563, -1, NULL, 'running', 0, NULL);
INSERT INTO public.history VALUES ('01a1e941-f0f4-74c6-b9a2-5a999950d0b0', 1, 0, 1794914775.337563, 0, 'pending', 'ready', 0, NULL);
INSERT INTO public.history VALUES ('01a1e941-f0f4-74c6-b9a2-5a999950d0b0', 2, 0, 1794914775.337563, 0, 'ready', 'running', 1, '{"executor":"default","reason":"default executor"}');
INSERT INTO public.history VALUES ('01a1e941-f13d-76d6-9ada-63bd989eb8f2', 0, 0, 1794914775.360898, -1, NULL, 'running', 0, NULL);
INSERT INTO public.history VALUES ('01a1e941-f13d-76d6-9ada-63bd989eb8f2', 1, 0, 1794914775.360898, 0, 'pending', 'ready', 0, NULL);
INSERT INTO public.history VALUES ('01a1e941-f13d-76d6-9ada-63bd989eb8f2', 2, 0, 1794914775.360898, 0, 'ready', 'running', 1, '{"executor":"default","reason":"default executor"}');
INSERT INTO public.history VALUES ('01a1e941-f13d-76d6-9ada-63bd989eb8f2', 3, 0, 1794914775.374405, 0, 'running', 'completed', 1, NULL);
INSERT INTO public.history VALUES ('01a1e941-f13d-76d6-9ada-63bd989eb8f2', 4, 0, 1794914775.374405, 1, 'pending', 'ready', 0, NULL);
INSERT INTO public.history VALUES ('01a1e941-f13d-76d6-9ada-63bd989eb8f2', 5, 0, 1794914775.374405, 1, 'ready', 'running', 1, '{"executor":"default","reason":"default executor"}');
INSERT INTO public.history VALUES ('01a1e941-f0f4-74c6-b9a2-5a999950d0b0', 3, 0, 1794914775.377371, 0, 'running', 'completed', 1, NULL);
INSERT INTO public.history VALUES ('01a1e941-f0f4-74c6-b9a2-5a999950d0b0', 4, 0, 1794914775.377371, 1, 'pending', 'ready', 0, NULL);
INSERT INTO public.history VALUES ('01a1e941-f0f4-74c6-b9a2-5a999950d0b0', 5, 0, 1794914775.377371, 1, 'ready', 'running', 1, '{"executor":"default","reason":"default executor"}');
INSERT INTO public.history VALUES ('01a1e941-f14b-7b3e-8984-e28ed4772cc9', 0, 0, 1794914775.400204, -1, NULL, 'running', 0, NULL);
INSERT INTO public.history VALUES ('01a1e941-f14b-7b3e-8984-e28ed4772cc9', 1, 0, 1794914775.400204, 0, 'pending', 'ready', 0, NULL);
INSERT INTO public.history VALUES ('01a1e941-f14b-7b3e-8984-e28ed4772cc9', 2, 0, 1794914775.400204, 0, 'ready', 'running', 1, '{"executor":"default","reason":"default executor"}');
INSERT INTO public.history VALUES ('01a1e941-f14b-7b3e-8984-e28ed4772cc9', 3, 0, 1794914775.416605, 0, 'running', 'completed', 1, NULL);
INSERT INTO public.history VALUES ('01a1e941-f14b-7b3e-8984-e28ed4772cc9', 4, 0, 1794914775.416605, 1, 'pending', 'ready', 0, NULL);
INSERT INTO public.history VALUES ('01a1e941-f14b-7b3e-8984-e28ed4772cc9', 5, 0, 1794914775.416605, 1, 'ready', 'running', 1, '{"executor":"default","reason":"default executor"}');
INSERT INTO public.history VALUES ('01a1e941-f173-70d9-9544-22412f55f725', 0, 0, 1794914775.41872, -1, NULL, 'running', 0, NULL);
INSERT INTO public.history VALUES ('01a1e941-f173-70d9-9544-22412f55f725', 1, 0, 1794914775.41872, 0, 'pending', 'ready', 0, NULL);
INSERT INTO public.history VALUES ('01a1e941-f173-70d9-9544-22412f55f725', 2, 0, 1794914775.41872, 0, 'ready', 'running', 1, '{"executor":"default","reason":"default executor"}');
INSERT INTO public.history VALUES ('01a1e941-f173-70d9-9544-22412f55f725', 3, 0, 1794914775.431658, 0, 'running', 'ready', 1, '{"status":"retry","reason":"retry_at","error":"ValueError: the first attempt fails","traceback":"Traceback (most recent call last):\n  File \"/app/tests/acceptance/upgrade/flows.py\", line 46, in fails_first\n    raise ValueError(\"the first attempt fails\")\nValueError: the first attempt fails\n","retry_in":20.0}');
INSERT INTO public.history VALUES ('01a1e941-f183-7c0d-80da-48d635b4775a', 0, 0, 1794914775.447986, -1, NULL, 'running', 0, NULL);
INSERT INTO public.history VALUES ('01a1e941-f183-7c0d-80da-48d635b4775a', 1, 0, 1794914775.447986, 0, 'pending', 'ready', 0, NULL);
INSERT INTO public.history VALUES ('01a1e941-f183-7c0d-80da-48d635b4775a', 2, 0, 1794914775.447986, 0, 'ready', 'running', 1, '{"executor":"default","reason":"default executor"}');
INSERT INTO public.history VALUES ('01a1e941-f183-7c0d-80da-48d635b4775a', 3, 0, 1794914775.454009, 0, 'running', 'completed', 1, NULL);
INSERT INTO public.history VALUES ('01a1e941-f183-7c0d-80da-48d635b4775a', 4, 0, 1794914775.454009, 1, 'pending', 'ready', 0, NULL);
INSERT INTO public.history VALUES ('01a1e941-f183-7c0d-80da-48d635b4775a', 5, 0, 1794914775.454009, 1, 'ready', 'running', 1, '{"reason":"mapped"}');
INSERT INTO public.history VALUES ('01a1e941-f183-7c0d-80da-48d635b4775a', 6, 0, 1794914775.454009, 2, 'pending', 'ready', 0, NULL);
INSERT INTO public.history VALUES ('01a1e941-f183-7c0d-80da-48d635b4775a', 7, 0, 1794914775.454009, 3, 'pending', 'ready', 0, NULL);
INSERT INTO public.history VALUES ('01a1e941-f183-7c0d-80da-48d635b4775a', 8, 0, 1794914775.454009, 4, 'pending', 'ready', 0, NULL);
INSERT INTO public.history VALUES ('01a1e941-f183-7c0d-80da-48d635b4775a', 9, 0, 1794914775.454009, 5, 'pending', 'ready', 0, NULL);
INSERT INTO public.history VALUES ('01a1e941-f183-7c0d-80da-48d635b4775a', 10, 0, 1794914775.454009, 2, 'ready', 'running', 1, '{"executor":"default","reason":"default executor"}');
INSERT INTO public.history VALUES ('01a1e941-f183-7c0d-80da-48d635b4775a', 11, 0, 1794914775.454009, 3, 'ready', 'running', 1, '{"executor":"default","reason":"default executor"}');
INSERT INTO public.history VALUES ('01a1e941-f183-7c0d-80da-48d635b4775a', 12, 0, 1794914775.454009, 4, 'ready', 'running', 1, '{"executor":"default","reason":"default executor"}');
INSERT INTO public.history VALUES ('01a1e941-f183-7c0d-80da-48d635b4775a', 13, 0, 1794914775.454009, 5, 'ready', 'running', 1, '{"executor":"default","reason":"default executor"}');
INSERT INTO public.history VALUES ('01a1e941-f199-7323-9b8d-30dce72a4e0b', 0, 0, 1794914775.463103, -1, NULL, 'running', 0, NULL);
INSERT INTO public.history VALUES ('01a1e941-f199-7323-9b8d-30dce72a4e0b', 1, 0, 1794914775.463103, 0, 'pending', 'ready', 0, NULL);
INSERT INTO public.history VALUES ('01a1e941-f199-7323-9b8d-30dce72a4e0b', 2, 0, 1794914775.463103, 0, 'ready', 'running', 1, '{"executor":"default","reason":"default executor"}');
INSERT INTO public.history VALUES ('01a1e941-f199-7323-9b8d-30dce72a4e0b', 3, 0, 1794914775.467189, 0, 'running', 'completed', 1, '{"chosen":["left"]}');
INSERT INTO public.history VALUES ('01a1e941-f199-7323-9b8d-30dce72a4e0b', 4, 0, 1794914775.467189, 2, 'pending', 'skipped', 0, '{"reason":"not_chosen:choose"}');
INSERT INTO public.history VALUES ('01a1e941-f199-7323-9b8d-30dce72a4e0b', 5, 0, 1794914775.467189, 1, 'pending', 'ready', 0, NULL);
INSERT INTO public.history VALUES ('01a1e941-f199-7323-9b8d-30dce72a4e0b', 6, 0, 1794914775.467189, 1, 'ready', 'running', 1, '{"executor":"default","reason":"default executor"}');
INSERT INTO public.history VALUES ('01a1e941-f1a8-7d2f-85d8-4090f7a621ec', 0, 0, 1794914775.479253, -1, NULL, 'running', 0, NULL);
INSERT INTO public.history VALUES ('01a1e941-f1a8-7d2f-85d8-4090f7a621ec', 1, 0, 1794914775.479253, 0, 'pending', 'ready', 0, NULL);
INSERT INTO public.history VALUES ('01a1e941-f1a8-7d2f-85d8-4090f7a621ec', 2, 0, 1794914775.479253, 0, 'ready', 'running', 1, '{"executor":"default","reason":"default executor"}');
INSERT INTO public.history VALUES ('01a1e941-f1a8-7d2f-85d8-4090f7a621ec', 3, 0, 1794914775.483647, 0, 'running', 'ready', 1, '{"status":"deferred","reason":"deferred","retry_in":20.0}');
INSERT INTO public.history VALUES ('01a1e941-f1b8-7273-818e-fa8f90f85d7e', 0, 0, 1794914775.498893, -1, NULL, 'running', 0, NULL);
INSERT INTO public.history VALUES ('01a1e941-f1b8-7273-818e-fa8f90f85d7e', 1, 0, 1794914775.498893, 0, 'pending', 'ready', 0, NULL);
INSERT INTO public.history VALUES ('01a1e941-f1b8-7273-818e-fa8f90f85d7e', 2, 0, 1794914775.498893, 0, 'ready', 'running', 1, '{"executor":"child","reason":"child run 01a1e941-f1b8-8752-8c26-8bc1d7bf16f3"}');
INSERT INTO public.history VALUES ('01a1e941-f1d3-76a8-ae50-8a76f5cb674c', 0, 0, 1794914775.510818, -1, NULL, 'running', 0, NULL);
INSERT INTO public.history VALUES ('01a1e941-f1d3-76a8-ae50-8a76f5cb674c', 1, 0, 1794914775.510818, 0, 'pending', 'ready', 0, NULL);
INSERT INTO public.history VALUES ('01a1e941-f1d3-76a8-ae50-8a76f5cb674c', 2, 0, 1794914775.510818, 0, 'ready', 'running', 1, '{"executor":"default","reason":"default executor"}');
INSERT INTO public.history VALUES ('01a1e941-f1d3-76a8-ae50-8a76f5cb674c', 3, 0, 1794914775.515048, 0, 'running', 'completed', 1, NULL);
INSERT INTO public.history VALUES ('01a1e941-f1d3-76a8-ae50-8a76f5cb674c', 4, 0, 1794914775.515048, 1, 'pending', 'ready', 0, NULL);
INSERT INTO public.history VALUES ('01a1e941-f1d3-76a8-ae50-8a76f5cb674c', 5, 0, 1794914775.515048, 1, 'ready', 'running', 1, '{"executor":"default","reason":"default executor"}');
INSERT INTO public.history VALUES ('01a1e941-f1b8-8752-8c26-8bc1d7bf16f3', 0, 0, 1794914775.522043, -1, NULL, 'running', 0, NULL);
INSERT INTO public.history VALUES ('01a1e941-f1b8-8752-8c26-8bc1d7bf16f3', 1, 0, 1794914775.522043, 0, 'pending', 'ready', 0, NULL);
INSERT INTO public.history VALUES ('01a1e941-f1b8-8752-8c26-8bc1d7bf16f3', 2, 0, 1794914775.522043, 0, 'ready', 'running', 1, '{"executor":"default","reason":"default executor"}');
INSERT INTO public.history VALUES ('01a1e941-f1d3-76a8-ae50-8a76f5cb674c', 6, 0, 1794914775.530967, -1, 'running', 'paused', 0, '{"reason":"paused"}');
INSERT INTO public.migration VALUES (1, '573b5c7332fdf0584183287000694a8a5bb3816fc9692757787a47bf4734e3c7', 1794914775.19643);
INSERT INTO public.migration VALUES (2, '0d9b4ed5f3868932609adef083199c5e8b545bb1063c5fe61d6804575a693f02', 1794914775.20994);
INSERT INTO public.migration VALUES (3, '9b54de8050d3caaf5cc5f99af7d96cbbeb5922afc5e3e15dd073068d9ddd136a', 1794914775.211196);
INSERT INTO public.migration VALUES (4, '0c7209e77ac5fd450129756912617010a3d1e30744546283abf2bb2932240a78', 1794914775.212655);
INSERT INTO public.migration VALUES (5, 'ceb05520af26839c04e7903b208fe00d833e9a1fea0f6ef95e4d6d3a09259fb8', 1794914775.222091);
INSERT INTO public.migration VALUES (6, '0559e60e0c24668ba06de3c99b07dba0373354dcd9d5cc8ffb2f73e71f030324', 1794914775.222428);
INSERT INTO public.migration VALUES (7, 'b378c8c30118dd4e13fe3ccfc1a2e3d8d24d047499eaecdaac8a7b56f8ed9f8b', 1794914775.222672);
INSERT INTO public.migration VALUES (8, '3e0b103e5c33b64525fede751361f2690a65a21a95285520d11df2d42cb40075', 1794914775.237096);
INSERT INTO public.migration VALUES (9, 'ad9dd8b025ed1a609d2a75181df7bd905633497be2dc7f71d98a06b50e625681', 1794914775.237448);
INSERT INTO public.run VALUES ('01a1e941-f0f4-74c6-b9a2-5a999950d0b0', 'public::embedded::chain', 'fccb95a7ffa23c15ab25d4a5ea65ab05', 'running', '479b37ef-6316-4e6d-872e-d015bdafe4cd', 1, 2, '{"number":0}', '', NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, 1794914775.2843463, 1794914775.337102, 1794914775.315248, NULL, 0, 0);
INSERT INTO public.run VALUES ('01a1e941-f13d-76d6-9ada-63bd989eb8f2', 'public::embedded::chain', 'fccb95a7ffa23c15ab25d4a5ea65ab05', 'running', '479b37ef-6316-4e6d-872e-d015bdafe4cd', 1, 2, '{"number":1}', '', NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, 1794914775.3574898, 1794914775.360708, 1794914775.3581898, NULL, 0, 0);
INSERT INTO public.run VALUES ('01a1e941-f14b-7b3e-8984-e28ed4772cc9', 'public::embedded::chain', 'fccb95a7ffa23c15ab25d4a5ea65ab05', 'running', '479b37ef-6316-4e6d-872e-d015bdafe4cd', 1, 2, '{"number":2}', '', NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, 1794914775.371904, 1794914775.400099, 1794914775.3722208, NULL, 0, 0);
INSERT INTO public.run VALUES ('01a1e941-f173-70d9-9544-22412f55f725', 'public::embedded::retried', 'd3fe87ecf0faa723cd7f764ba7a057ea', 'running', '479b37ef-6316-4e6d-872e-d015bdafe4cd', 1, 2, '{"number":5}', '', NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, 1794914775.4119985, 1794914775.418617, 1794914775.4170303, NULL, 0, 0);
INSERT INTO public.run VALUES ('01a1e941-f183-7c0d-80da-48d635b4775a', 'public::embedded::mapped', '546c0672a15225eba8e33e27f6d2e45b', 'running', '479b37ef-6316-4e6d-872e-d015bdafe4cd', 1, 2, '{"count":4}', '', NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, 1794914775.4279091, 1794914775.447891, 1794914775.441369, NULL, 0, 0);
INSERT INTO public.run VALUES ('01a1e941-f199-7323-9b8d-30dce72a4e0b', 'public::embedded::branched', '7aad7aa7b4885176da79208109a9ac67', 'running', '479b37ef-6316-4e6d-872e-d015bdafe4cd', 1, 2, '{"number":3}', '', NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, 1794914775.4497244, 1794914775.463007, 1794914775.4616277, NULL, 0, 0);
INSERT INTO public.run VALUES ('01a1e941-f1a8-7d2f-85d8-4090f7a621ec', 'public::embedded::deferred', '8c55adfcdb08d10bd4de551d8a8299a6', 'running', '479b37ef-6316-4e6d-872e-d015bdafe4cd', 1, 2, '{}', '', NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, 1794914775.465148, 1794914775.479149, 1794914775.475171, NULL, 0, 0);
INSERT INTO public.run VALUES ('01a1e941-f1b8-7273-818e-fa8f90f85d7e', 'public::embedded::outer', 'e5e5e6a580e006ae86becd0f8df9f41d', 'running', '479b37ef-6316-4e6d-872e-d015bdafe4cd', 1, 2, '{"number":7}', '', NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, 1794914775.4806967, 1794914775.498713, 1794914775.4913397, NULL, 0, 0);
INSERT INTO public.run VALUES ('01a1e941-f1b8-8752-8c26-8bc1d7bf16f3', 'public::embedded::inner', 'f023365f15d4d387753a39ec3654381a', 'running', '479b37ef-6316-4e6d-872e-d015bdafe4cd', 1, 2, '{"number":7}', '', NULL, 0, NULL, NULL, NULL, NULL, '01a1e941-f1b8-7273-818e-fa8f90f85d7e', 0, 1794914775.5078049, 1794914775.521839, 1794914775.520519, NULL, 1, 1);
INSERT INTO public.run VALUES ('01a1e941-f1d3-76a8-ae50-8a76f5cb674c', 'public::embedded::chain', 'fccb95a7ffa23c15ab25d4a5ea65ab05', 'paused', '479b37ef-6316-4e6d-872e-d015bdafe4cd', 1, 6, '{"number":100}', '', NULL, 0, NULL, 'paused', NULL, NULL, NULL, NULL, 1794914775.5075667, 1794914775.510645, 1794914775.5082464, NULL, 0, 0);
INSERT INTO public.session VALUES ('479b37ef-6316-4e6d-872e-d015bdafe4cd', 'orchestrator', 'host', '00000000-0000-0000-0000-000000000000', 'pid:[4026531836]', 28780, '86532', '["public::embedded::mapped","public::embedded::inner","public::embedded::outer","public::embedded::branched","public::embedded::deferred","public::embedded::chain","public::embedded::retried"]', '{"at":1794914778.2704647,"age_seconds":0.021302841000078843,"uptime_seconds":3.0103332480000518,"owned_runs":10,"pools":{"task_request_processor":{"executors":2,"healthy":2,"min_executors":2,"max_executors":4,"utilisation":0.03958874440891798,"throughput":3.3236697369837507,"items":10,"batches":10,"busy_seconds":0.2382230939999772,"stage_executors":[{"id":"task_request_processor-dde4aa8a","state_seconds":2.0068874990000722,"items":4,"items_per_second":1.3294678947935004,"average_seconds":0.025912504750010612,"error_rate":0.0,"busy_seconds":0.10365001900004245},{"id":"task_request_processor-3ccbf24f","state_seconds":2.0068942069999594,"items":6,"items_per_second":1.9942018421902505,"average_seconds":0.02242884583332246,"error_rate":0.0,"busy_seconds":0.13457307499993476}]},"task_claimer":{"executors":1,"healthy":1,"min_executors":1,"max_executors":1,"utilisation":0.004502574727932785,"throughput":0.6647339473967502,"items":2,"batches":2,"busy_seconds":0.013546997999924315,"stage_executors":[{"id":"task_claimer-002140e3","state_seconds":2.0069245180000053,"items":2,"items_per_second":0.6647339473967502,"average_seconds":0.0067734989999621575,"error_rate":0.0,"busy_seconds":0.013546997999924315}]},"step_enqueuer":{"executors":2,"healthy":2,"min_executors":2,"max_executors":4,"utilisation":0.0,"throughput":0.0,"busy_seconds":0.0,"stage_executors":[{"id":"step_enqueuer-01ff4f5c","state_seconds":2.0069447030000447,"items_per_second":0.0,"average_seconds":0.0,"error_rate":0.0,"busy_seconds":0.0},{"id":"step_enqueuer-8aaca26c","state_seconds":2.0069489119999844,"items_per_second":0.0,"average_seconds":0.0,"error_rate":0.0,"busy_seconds":0.0}]},"step_result_processor":{"executors":2,"healthy":2,"min_executors":2,"max_executors":4,"utilisation":0.019629092589580798,"throughput":2.991302763285376,"items":9,"batches":9,"busy_seconds":0.1181169859999045,"stage_executors":[{"id":"step_result_processor-86063a4f","state_seconds":2.0069655340000736,"items":4,"items_per_second":1.3294678947935004,"average_seconds":0.0161671412500084,"error_rate":0.0,"busy_seconds":0.0646685650000336},{"id":"step_result_processor-b8c04cc8","state_seconds":2.006969852999987,"items":5,"items_per_second":1.6618348684918753,"average_seconds":0.010689684199974181,"error_rate":0.0,"busy_seconds":0.053448420999870905}]},"task_finalizer":{"executors":2,"healthy":2,"min_executors":2,"max_executors":4,"utilisation":0.0,"throughput":0.0,"busy_seconds":0.0,"stage_executors":[{"id":"task_finalizer-0750210d","state_seconds":2.0069851629999675,"items_per_second":0.0,"average_seconds":0.0,"error_rate":0.0,"busy_seconds":0.0},{"id":"task_finalizer-3c7a19e5","state_seconds":2.006988320000005,"items_per_second":0.0,"average_seconds":0.0,"error_rate":0.0,"busy_seconds":0.0}]}},"executors":{"default":{"active":10,"capacity":32,"running":10,"async_capacity":512,"executed":8,"failed":1,"seconds":0.0004343986511230469,"attempts_per_second":2.6589357895870007,"spare":30},"process":{"capacity":2,"seconds":0.0,"attempts_per_second":0.0},"shell":{"capacity":32,"seconds":0.0,"attempts_per_second":0.0}},"pool_size":10,"saturation":0.0,"backpressure":1.0,"error_rate":0.0,"commits":19,"memory_bytes":46043136,"cpu_seconds":0.792033407,"cpu_ratio":0.026745675733838892}', 15, 1794914793.293201, 1794914775.248691, NULL, NULL, NULL);
INSERT INTO public.task VALUES ('01a1e941-f0f4-74c6-b9a2-5a999950d0b0', 2, 'double-2', 'pending', 1, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.task VALUES ('01a1e941-f13d-76d6-9ada-63bd989eb8f2', 2, 'double-2', 'pending', 1, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.task VALUES ('01a1e941-f13d-76d6-9ada-63bd989eb8f2', 0, 'double', 'completed', 1, 3, 0, 1, 0, 0, 0, NULL, NULL, 'default', 'default executor', NULL, NULL, '479b37ef-6316-4e6d-872e-d015bdafe4cd', NULL, '2', NULL, 1794914775.3581898, 1794914775.3713548, 1794914775.3713927, NULL, NULL, NULL);
INSERT INTO public.task VALUES ('01a1e941-f13d-76d6-9ada-63bd989eb8f2', 1, 'stop_here', 'running', 1, 5, 0, 1, 0, 0, 0, NULL, NULL, 'default', 'default executor', NULL, NULL, '479b37ef-6316-4e6d-872e-d015bdafe4cd', NULL, NULL, NULL, 1794914775.3716426, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.task VALUES ('01a1e941-f0f4-74c6-b9a2-5a999950d0b0', 0, 'double', 'completed', 1, 3, 0, 1, 0, 0, 0, NULL, NULL, 'default', 'default executor', NULL, NULL, '479b37ef-6316-4e6d-872e-d015bdafe4cd', NULL, '0', NULL, 1794914775.315248, 1794914775.3578298, 1794914775.3578794, NULL, NULL, NULL);
INSERT INTO public.task VALUES ('01a1e941-f0f4-74c6-b9a2-5a999950d0b0', 1, 'stop_here', 'running', 1, 5, 0, 1, 0, 0, 0, NULL, NULL, 'default', 'default executor', NULL, NULL, '479b37ef-6316-4e6d-872e-d015bdafe4cd', NULL, NULL, NULL, 1794914775.3588, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.task VALUES ('01a1e941-f14b-7b3e-8984-e28ed4772cc9', 2, 'double-2', 'pending', 1, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.task VALUES ('01a1e941-f14b-7b3e-8984-e28ed4772cc9', 0, 'double', 'completed', 1, 3, 0, 1, 0, 0, 0, NULL, NULL, 'default', 'default executor', NULL, NULL, '479b37ef-6316-4e6d-872e-d015bdafe4cd', NULL, '4', NULL, 1794914775.3722208, 1794914775.4136837, 1794914775.4137242, NULL, NULL, NULL);
INSERT INTO public.task VALUES ('01a1e941-f14b-7b3e-8984-e28ed4772cc9', 1, 'stop_here', 'running', 1, 5, 0, 1, 0, 0, 0, NULL, NULL, 'default', 'default executor', NULL, NULL, '479b37ef-6316-4e6d-872e-d015bdafe4cd', NULL, NULL, NULL, 1794914775.414677, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.task VALUES ('01a1e941-f173-70d9-9544-22412f55f725', 1, 'double', 'pending', 1, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.task VALUES ('01a1e941-f173-70d9-9544-22412f55f725', 0, 'fails_first', 'ready', 1, 3, 0, 1, 1, 0, 0, 'retry_at', 1794914795.43154, 'default', 'default executor', NULL, NULL, NULL, NULL, NULL, '{"type":"ValueError","message":"the first attempt fails","traceback":"Traceback (most recent call last):\n  File \"/app/tests/acceptance/upgrade/flows.py\", line 46, in fails_first\n    raise ValueError(\"the first attempt fails\")\nValueError: the first attempt fails\n","mro":["builtins.ValueError","builtins.Exception","builtins.BaseException"]}', NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.task VALUES ('01a1e941-f183-7c0d-80da-48d635b4775a', 0, 'numbers', 'completed', 1, 3, 0, 1, 0, 0, 0, NULL, NULL, 'default', 'default executor', NULL, NULL, '479b37ef-6316-4e6d-872e-d015bdafe4cd', NULL, '[0,1,2,3]', NULL, 1794914775.441369, 1794914775.4495614, 1794914775.4496589, NULL, NULL, NULL);
INSERT INTO public.task VALUES ('01a1e941-f183-7c0d-80da-48d635b4775a', 1, 'stop_here', 'running', 1, 5, 0, 1, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1794914775.4499595, 1794914775.4499595, NULL, NULL, NULL, NULL);
INSERT INTO public.task VALUES ('01a1e941-f183-7c0d-80da-48d635b4775a', 2, 'stop_here[0]', 'running', 1, 10, 0, 1, 0, 0, 0, NULL, NULL, 'default', 'default executor', NULL, NULL, '479b37ef-6316-4e6d-872e-d015bdafe4cd', NULL, NULL, NULL, 1794914775.4499595, NULL, NULL, NULL, 1, 0);
INSERT INTO public.task VALUES ('01a1e941-f183-7c0d-80da-48d635b4775a', 3, 'stop_here[1]', 'running', 1, 11, 0, 1, 0, 0, 0, NULL, NULL, 'default', 'default executor', NULL, NULL, '479b37ef-6316-4e6d-872e-d015bdafe4cd', NULL, NULL, NULL, 1794914775.4499595, NULL, NULL, NULL, 1, 1);
INSERT INTO public.task VALUES ('01a1e941-f183-7c0d-80da-48d635b4775a', 4, 'stop_here[2]', 'running', 1, 12, 0, 1, 0, 0, 0, NULL, NULL, 'default', 'default executor', NULL, NULL, '479b37ef-6316-4e6d-872e-d015bdafe4cd', NULL, NULL, NULL, 1794914775.4499595, NULL, NULL, NULL, 1, 2);
INSERT INTO public.task VALUES ('01a1e941-f183-7c0d-80da-48d635b4775a', 5, 'stop_here[3]', 'running', 1, 13, 0, 1, 0, 0, 0, NULL, NULL, 'default', 'default executor', NULL, NULL, '479b37ef-6316-4e6d-872e-d015bdafe4cd', NULL, NULL, NULL, 1794914775.4499595, NULL, NULL, NULL, 1, 3);
INSERT INTO public.task VALUES ('01a1e941-f1d3-76a8-ae50-8a76f5cb674c', 2, 'double-2', 'pending', 1, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.task VALUES ('01a1e941-f1d3-76a8-ae50-8a76f5cb674c', 0, 'double', 'completed', 1, 3, 0, 1, 0, 0, 0, NULL, NULL, 'default', 'default executor', NULL, NULL, '479b37ef-6316-4e6d-872e-d015bdafe4cd', NULL, '200', NULL, 1794914775.5082464, 1794914775.512403, 1794914775.5124362, NULL, NULL, NULL);
INSERT INTO public.task VALUES ('01a1e941-f1d3-76a8-ae50-8a76f5cb674c', 1, 'stop_here', 'running', 1, 5, 0, 1, 0, 0, 0, NULL, NULL, 'default', 'default executor', NULL, NULL, '479b37ef-6316-4e6d-872e-d015bdafe4cd', NULL, NULL, NULL, 1794914775.5133483, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.task VALUES ('01a1e941-f1b8-8752-8c26-8bc1d7bf16f3', 0, 'stop_here', 'running', 1, 2, 0, 1, 0, 0, 0, NULL, NULL, 'default', 'default executor', NULL, NULL, '479b37ef-6316-4e6d-872e-d015bdafe4cd', NULL, NULL, NULL, 1794914775.520519, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.task VALUES ('01a1e941-f199-7323-9b8d-30dce72a4e0b', 3, 'joined', 'pending', 1, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.task VALUES ('01a1e941-f199-7323-9b8d-30dce72a4e0b', 0, 'choose', 'completed', 1, 3, 0, 1, 0, 0, 0, NULL, NULL, 'default', 'default executor', NULL, NULL, '479b37ef-6316-4e6d-872e-d015bdafe4cd', NULL, '3', NULL, 1794914775.4616277, 1794914775.4650278, 1794914775.465059, '{"chosen":["left"]}', NULL, NULL);
INSERT INTO public.task VALUES ('01a1e941-f199-7323-9b8d-30dce72a4e0b', 1, 'left', 'running', 1, 6, 0, 1, 0, 0, 0, NULL, NULL, 'default', 'default executor', NULL, NULL, '479b37ef-6316-4e6d-872e-d015bdafe4cd', NULL, NULL, NULL, 1794914775.465372, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.task VALUES ('01a1e941-f199-7323-9b8d-30dce72a4e0b', 2, 'right', 'skipped', 1, 4, 0, 0, 0, 0, 0, 'not_chosen:choose', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1794914775.465372, NULL, NULL, NULL);
INSERT INTO public.task VALUES ('01a1e941-f1a8-7d2f-85d8-4090f7a621ec', 0, 'deferred_once', 'ready', 1, 3, 0, 1, 0, 0, 0, 'deferred', 1794914795.48354, 'default', 'default executor', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{"saved":"\"saved before the upgrade\"","deferrals":1}', NULL, NULL);
INSERT INTO public.task VALUES ('01a1e941-f1b8-7273-818e-fa8f90f85d7e', 0, 'inner', 'running', 1, 2, 0, 1, 0, 0, 0, NULL, NULL, 'child', 'child run 01a1e941-f1b8-8752-8c26-8bc1d7bf16f3', NULL, NULL, 'child', NULL, NULL, NULL, 1794914775.4913397, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.task VALUES ('01a1e941-f1b8-7273-818e-fa8f90f85d7e', 1, 'double', 'pending', 1, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.workflow VALUES ('fccb95a7ffa23c15ab25d4a5ea65ab05', 'public::embedded::chain', 1, '{"name":"chain","tasks":[{"name":"double","body":{"kind":"python","ref":"__main__:double"},"full_name":"public::embedded::chain::double","args":[{"type":"param","name":"number","path":[]}],"retry":{"delay":0.0,"jitter":0.0}},{"name":"stop_here","body":{"kind":"python","ref":"__main__:stop_here"},"full_name":"public::embedded::chain::stop_here","args":[{"type":"task","name":"double","path":[]}],"depends_on":["double"],"retry":{"delay":0.0,"jitter":0.0}},{"name":"double-2","body":{"kind":"python","ref":"__main__:double"},"full_name":"public::embedded::chain::double-2","args":[{"type":"task","name":"stop_here","path":[]}],"depends_on":["stop_here"],"retry":{"delay":0.0,"jitter":0.0}}],"params":[{"name":"number","type":"int","schema":{"type":"integer"}}],"result":{"type":"task","name":"double-2","path":[]}}', 1794914775.296548, 1794914775.302981);
INSERT INTO public.workflow VALUES ('d3fe87ecf0faa723cd7f764ba7a057ea', 'public::embedded::retried', 1, '{"name":"retried","tasks":[{"name":"fails_first","body":{"kind":"python","ref":"__main__:fails_first"},"full_name":"public::embedded::retried::fails_first","args":[{"type":"param","name":"number","path":[]}],"retry":{"attempts":3,"delay":20.0,"jitter":0.0}},{"name":"double","body":{"kind":"python","ref":"__main__:double"},"full_name":"public::embedded::retried::double","args":[{"type":"task","name":"fails_first","path":[]}],"depends_on":["fails_first"],"retry":{"delay":0.0,"jitter":0.0}}],"params":[{"name":"number","type":"int","schema":{"type":"integer"}}],"result":{"type":"task","name":"double","path":[]}}', 1794914775.415824, 1794914775.416521);
INSERT INTO public.workflow VALUES ('546c0672a15225eba8e33e27f6d2e45b', 'public::embedded::mapped', 1, '{"name":"mapped","tasks":[{"name":"numbers","body":{"kind":"python","ref":"__main__:numbers"},"full_name":"public::embedded::mapped::numbers","args":[{"type":"param","name":"count","path":[]}],"retry":{"delay":0.0,"jitter":0.0}},{"name":"stop_here","body":{"kind":"python","ref":"__main__:stop_here"},"full_name":"public::embedded::mapped::stop_here","args":[{"type":"task","name":"numbers","path":[]}],"depends_on":["numbers"],"retry":{"delay":0.0,"jitter":0.0},"map":{"over":[0]}}],"params":[{"name":"count","type":"int","schema":{"type":"integer"}}],"result":{"type":"task","name":"stop_here","path":[]}}', 1794914775.43511, 1794914775.437329);
INSERT INTO public.workflow VALUES ('7aad7aa7b4885176da79208109a9ac67', 'public::embedded::branched', 1, '{"name":"branched","tasks":[{"name":"choose","body":{"kind":"python","ref":"__main__:choose"},"full_name":"public::embedded::branched::choose","args":[{"type":"param","name":"number","path":[]}],"retry":{"delay":0.0,"jitter":0.0}},{"name":"left","body":{"kind":"python","ref":"__main__:left"},"full_name":"public::embedded::branched::left","args":[{"type":"task","name":"choose","path":[]}],"depends_on":["choose"],"retry":{"delay":0.0,"jitter":0.0}},{"name":"right","body":{"kind":"python","ref":"__main__:right"},"full_name":"public::embedded::branched::right","args":[{"type":"task","name":"choose","path":[]}],"depends_on":["choose"],"retry":{"delay":0.0,"jitter":0.0}},{"name":"joined","body":{"kind":"python","ref":"__main__:joined"},"full_name":"public::embedded::branched::joined","args":[{"type":"task","name":"left","path":[]},{"type":"task","name":"right","path":[]}],"depends_on":["left","right"],"retry":{"delay":0.0,"jitter":0.0}}],"params":[{"name":"number","type":"int","schema":{"type":"integer"}}],"result":{"type":"task","name":"joined","path":[]}}', 1794914775.452135, 1794914775.458923);
INSERT INTO public.workflow VALUES ('8c55adfcdb08d10bd4de551d8a8299a6', 'public::embedded::deferred', 1, '{"name":"deferred","tasks":[{"name":"deferred_once","body":{"kind":"python","ref":"__main__:deferred_once"},"full_name":"public::embedded::deferred::deferred_once","retry":{"delay":0.0,"jitter":0.0}}],"result":{"type":"task","name":"deferred_once","path":[]}}', 1794914775.467714, 1794914775.47123);
INSERT INTO public.workflow VALUES ('e5e5e6a580e006ae86becd0f8df9f41d', 'public::embedded::outer', 1, '{"name":"outer","tasks":[{"name":"inner","body":{"kind":"workflow","ref":"public::embedded::inner"},"full_name":"public::embedded::outer::inner","args":[{"type":"param","name":"number","path":[]}],"retry":{"delay":0.0,"jitter":0.0}},{"name":"double","body":{"kind":"python","ref":"__main__:double"},"full_name":"public::embedded::outer::double","args":[{"type":"task","name":"inner","path":[]}],"depends_on":["inner"],"retry":{"delay":0.0,"jitter":0.0}}],"params":[{"name":"number","type":"int","schema":{"type":"integer"}}],"result":{"type":"task","name":"double","path":[]}}', 1794914775.482535, 1794914775.48735);
INSERT INTO public.workflow VALUES ('f023365f15d4d387753a39ec3654381a', 'public::embedded::inner', 1, '{"name":"inner","tasks":[{"name":"stop_here","body":{"kind":"python","ref":"__main__:stop_here"},"full_name":"public::embedded::inner::stop_here","args":[{"type":"param","name":"number","path":[]}],"retry":{"delay":0.0,"jitter":0.0}}],"params":[{"name":"number","type":"int","schema":{"type":"integer"}}],"result":{"type":"task","name":"stop_here","path":[]}}', 1794914775.511388, 1794914775.516381);
SELECT pg_catalog.setval('public.command_id_seq', 1, false);
SELECT pg_catalog.setval('public.inbox_id_seq', 1, false);
SELECT pg_catalog.setval('public.log_id_seq', 1, false);
SELECT pg_catalog.setval('public.routing_number_seq', 1, false);
SELECT pg_catalog.setval('public.run_number_number_seq', 1, false);
ALTER TABLE ONLY public.command
    ADD CONSTRAINT command_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.duty
    ADD CONSTRAINT duty_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.history
    ADD CONSTRAINT history_pkey PRIMARY KEY (run_id, seq, part);
ALTER TABLE ONLY public.inbox
    ADD CONSTRAINT inbox_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.inbox
    ADD CONSTRAINT inbox_run_id_pos_attempt_key UNIQUE (run_id, pos, attempt);
ALTER TABLE ONLY public.log
    ADD CONSTRAINT log_pkey PRIMARY KEY (run_id, pos, attempt, seq);
ALTER TABLE ONLY public.migration
    ADD CONSTRAINT migration_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.routing
    ADD CONSTRAINT routing_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.run_number
    ADD CONSTRAINT run_number_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.run_number
    ADD CONSTRAINT run_number_run_id_key UNIQUE (run_id);
ALTER TABLE ONLY public.run
    ADD CONSTRAINT run_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.session
    ADD CONSTRAINT session_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.task
    ADD CONSTRAINT task_pkey PRIMARY KEY (run_id, pos);
ALTER TABLE ONLY public.workflow
    ADD CONSTRAINT workflow_full_name_number_key UNIQUE (full_name, number);
ALTER TABLE ONLY public.workflow
    ADD CONSTRAINT workflow_pkey PRIMARY KEY (version);
CREATE INDEX command_open ON public.command USING btree (run_id) WHERE (done_at IS NULL);
CREATE INDEX log_of_run ON public.log USING btree (run_id, id);
CREATE INDEX run_ended ON public.run USING btree (finished_at, id) WHERE (finished_at IS NOT NULL);
CREATE UNIQUE INDEX run_key ON public.run USING btree (workflow, key) WHERE (key IS NOT NULL);
CREATE INDEX run_of_workflow ON public.run USING btree (workflow, id);
CREATE INDEX run_owner ON public.run USING btree (owner) WHERE (owner IS NOT NULL);
CREATE INDEX run_parent ON public.run USING btree (parent_run) WHERE (parent_run IS NOT NULL);
CREATE INDEX run_unowned ON public.run USING btree (priority DESC, submitted_at, id, workflow) WHERE ((owner IS NULL) AND (state = ANY (ARRAY['pending'::text, 'running'::text, 'paused'::text, 'cancelling'::text])));
CREATE INDEX task_leased ON public.task USING btree (lease_until, run_id) WHERE (lease_until IS NOT NULL);
CREATE INDEX task_offered ON public.task USING btree (poll_key, priority DESC, run_id, pos) WHERE (poll_key IS NOT NULL);
CREATE TRIGGER run_move BEFORE UPDATE OF state ON public.run FOR EACH ROW WHEN ((NOT
        CASE old.state
            WHEN 'pending'::text THEN (new.state = ANY (ARRAY['pending'::text, 'running'::text, 'paused'::text, 'cancelling'::text, 'cancelled'::text, 'failed'::text, 'completed'::text]))
            WHEN 'running'::text THEN (new.state = ANY (ARRAY['running'::text, 'completed'::text, 'failed'::text, 'paused'::text, 'cancelling'::text, 'cancelled'::text]))
            WHEN 'paused'::text THEN (new.state = ANY (ARRAY['paused'::text, 'running'::text, 'cancelling'::text, 'cancelled'::text, 'failed'::text, 'completed'::text]))
            WHEN 'cancelling'::text THEN (new.state = ANY (ARRAY['cancelling'::text, 'cancelled'::text, 'failed'::text]))
            ELSE false
        END)) EXECUTE FUNCTION public.refuse_move();
CREATE TRIGGER task_move BEFORE UPDATE OF state ON public.task FOR EACH ROW WHEN (((new.attempt < old.attempt) OR (NOT
        CASE old.state
            WHEN 'pending'::text THEN ((new.state = ANY (ARRAY['pending'::text, 'ready'::text, 'running'::text, 'skipped'::text, 'cancelled'::text])) OR ((new.state = ANY (ARRAY['completed'::text, 'failed'::text])) AND (new.attempt > old.attempt)))
            WHEN 'ready'::text THEN ((new.state = ANY (ARRAY['running'::text, 'cancelled'::text])) OR ((new.state = 'ready'::text) AND (new.attempt = old.attempt)))
            WHEN 'running'::text THEN ((new.state = ANY (ARRAY['completed'::text, 'failed'::text, 'ready'::text, 'cancelled'::text])) OR ((new.state = 'running'::text) AND (new.attempt > old.attempt)))
            ELSE false
        END))) EXECUTE FUNCTION public.refuse_move();
