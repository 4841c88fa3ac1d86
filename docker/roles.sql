-- The role of the replicas in compose.yaml, where `migrate` gives it its rights.
\getenv password DATABASE_PASSWORD
create role scoreline login password :'password';
