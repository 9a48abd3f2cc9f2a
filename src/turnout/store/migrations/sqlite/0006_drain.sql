-- Why a worker is to finish what it has and leave; null: it is not.
alter table session add column drain text;
