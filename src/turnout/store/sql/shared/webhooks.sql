-- name: add_webhook
insert into webhook (id, name, workflow, digest, mapping, signature, delivery_headers, created_at, created_by)
values (:id, :name, :workflow, :digest, :mapping, :signature, :delivery_headers, :now, :created_by)
on conflict (name) do nothing
returning id

-- name: webhook
select id, name, workflow, mapping, signature, delivery_headers, created_at, created_by, rotated_at
from webhook where id = :id

-- name: webhook_of
select id, name, workflow, mapping, signature, delivery_headers, created_at, created_by, rotated_at
from webhook where digest = :digest

-- name: webhooks
select id, name, workflow, mapping, signature, delivery_headers, created_at, created_by, rotated_at
from webhook order by name

-- name: rotate_webhook
update webhook set digest = :digest, rotated_at = :now where id = :id returning id

-- name: delete_webhook
delete from webhook where id = :id returning id
