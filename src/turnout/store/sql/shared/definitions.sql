-- part: current_definition
-- A definition with its current version.
select definition.full_name, kind, origin, file, definition.version, updated_at, updated_by, removed, revision, findings,
    digest, spec_version, created_at, actor, text, base, remote_only
from definition left join definition_version as current
    on current.full_name = definition.full_name and current.version = definition.version

-- name: revision
select revision from definition_revision where id = 1

-- name: lock_revision
-- SQLite has one writer at a time.
select revision from definition_revision where id = 1 /*pg for update */

-- name: next_revision
update definition_revision set revision = revision + 1 where id = 1 returning revision

-- name: definition
<current_definition>
where definition.full_name = :full_name

-- name: definitions_since
<current_definition>
where revision > :revision
order by revision

-- name: put_definition
insert into definition (full_name, kind, origin, file, version, findings, updated_at, updated_by, removed, revision)
values (:full_name, :kind, :origin, :file, :version, null, :now, :actor, /*pg false */ /*sqlite 0 */, :revision)
on conflict (full_name) do update set kind = excluded.kind, origin = excluded.origin, file = excluded.file,
    version = excluded.version, findings = null, updated_at = excluded.updated_at, updated_by = excluded.updated_by,
    removed = excluded.removed, revision = excluded.revision

-- name: put_definition_version
insert into definition_version
    (full_name, version, digest, text, base, spec_version, remote_only, created_at, actor)
values (:full_name, :version, :digest, :text, :base, :spec_version,
    /*pg :remote_only <> 0 */ /*sqlite :remote_only */, :now, :actor)

-- name: newest_definition_version
select coalesce(max(version), 0) from definition_version where full_name = :full_name

-- name: prune_definition_versions
delete from definition_version where full_name = :full_name and version <= :version

-- name: put_findings
insert into definition (full_name, kind, origin, file, version, findings, updated_at, updated_by, removed, revision)
values (:full_name, :kind, 'file', :file, 0, :findings, :now, :actor, /*pg false */ /*sqlite 0 */, :revision)
on conflict (full_name) do update set findings = excluded.findings, origin = excluded.origin, file = excluded.file, revision = excluded.revision

-- name: remove_definition
update definition set removed = /*pg true */ /*sqlite 1 */, findings = null, updated_at = :now, updated_by = :actor,
    revision = :revision
where full_name = :full_name

-- name: open_runs_of
-- By way of the runs that have not ended, which indexes know.
select id from run where id in (
    select id from run /*sqlite indexed by run_owner */ where owner is not null and workflow = :full_name
    union all
    select id from run /*sqlite indexed by run_unowned */
    where owner is null and state in ('pending', 'running', 'paused', 'cancelling') and (state <> 'pending' or coalesce(reason, '') <> 'limit')
        and workflow = :full_name
    union all
    select id from run /*sqlite indexed by run_queued */
    where owner is null and state = 'pending' and reason = 'limit' and workflow = :full_name)
    and state in ('pending', 'running', 'paused', 'cancelling')
order by id
limit :limit

-- name: definition_versions_in_use
-- By way of the runs that have not ended, which indexes know.
select earlier.full_name, earlier.version, digest, spec_version, created_at, actor, text, base, remote_only
from definition_version as earlier join definition
    on definition.full_name = earlier.full_name and definition.version <> earlier.version
where (earlier.full_name, spec_version) in (
    select workflow, version from run /*sqlite indexed by run_owner */ where owner is not null
    union
    select workflow, version from run /*sqlite indexed by run_unowned */
    where owner is null and state in ('pending', 'running', 'paused', 'cancelling') and (state <> 'pending' or coalesce(reason, '') <> 'limit')
    union
    select workflow, version from run /*sqlite indexed by run_queued */
    where owner is null and state = 'pending' and reason = 'limit')
order by earlier.full_name, earlier.version

-- name: definition_versions
select full_name, version, digest, spec_version, created_at, actor, '', null, remote_only
from definition_version
where full_name = :full_name and version < :before
order by version desc
limit :limit

-- name: definition_version
select full_name, version, digest, spec_version, created_at, actor, text, base, remote_only
from definition_version where full_name = :full_name and version = :version

-- name: recent_runs
-- The newest runs of each workflow, by one look into an index for each.
select names.name, (
    select /*pg json_agg(json_build_array(id, state, created_at, started_at, finished_at))::text */
        /*sqlite json_group_array(json_array(id, state, created_at, started_at, finished_at)) */
    from (select id, state, created_at, started_at, finished_at from run
        where run.workflow = names.name order by id desc limit :limit) as newest)
from (/*pg select value as name from json_array_elements_text(:workflows::json) */
    /*sqlite select value as name from json_each(:workflows) */) as names
