import { sql } from 'drizzle-orm'
import type { Database } from '../../../src/platform/db/client.ts'
import type { Backend } from './databases.ts'
import { withDatabase } from './seeded-database.ts'
import { OWNER, TestService, type TestServiceOptions } from './service.ts'

/** How many of each thing the first team has. */
interface Sizes {
  readonly keys: number
  readonly records: number
  /** Models, a deployment of each, and members. */
  readonly others: number
}

/** The service over a team that has had all these for long. */
export async function withLongLists(
  backend: Backend,
  sizes: Sizes,
  options: TestServiceOptions = {},
): Promise<TestService> {
  const database = await backend.create()
  const kept = { ...backend, create: async () => ({ ...database, drop: async () => {} }) }
  // Its first start makes the team and its owner.
  const first = await TestService.start(kept)
  await first.close()
  await withDatabase(database, (db) => fill(db, sizes))
  return TestService.start({ ...backend, create: async () => database }, options)
}

async function fill(db: Database, { keys, records, others }: Sizes): Promise<void> {
  const team = sql`(select team_id from users where email = ${OWNER.email})`
  const id = (prefix: string) => sql.raw(`'${prefix}0' || lpad(n::text, 20, '0')`)
  const at = sql`now() - interval '1 day' + n * interval '1 ms'`
  await db.execute(sql`insert into api_keys (id, team_id, name, key_hash, key_prefix, scopes, environment, created_by, created_at)
    select ${id('key_')}, ${team}, 'Key "' || n || '" für alles', 'hash ' || n, 'sk_live_abcd', array['score', 'read'],
      case when n % 2 = 0 then 'staging' end, 'usr_1', ${at} from generate_series(1, ${keys}::integer) as n`)
  await db.execute(sql`insert into audit_log (id, team_id, actor, action, subject, before, after, created_at)
    select ${id('aud_')}, ${team}, 'usr_1', 'deployment.update', 'dep_' || n, '{"name": "a", "shares": [0, 100]}',
      json_build_object('name', 'b' || n), ${at} from generate_series(1, ${records}::integer) as n`)
  await db.execute(sql`insert into models (id, team_id, name, version, spec_version, environment, status, spec, deployed_by, created_at, updated_at)
    select ${id('mod_')}, ${team}, 'Card ' || n, '1.' || n, '1.0', 'production', 'active', '{}', 'usr_1', ${at}, ${at}
      from generate_series(1, ${others}::integer) as n`)
  await db.execute(sql`insert into deployments (id, team_id, name, environment, is_active, champion_model_id, shadow_mode, cache_version, created_at, updated_at)
    select ${id('dep_')}, ${team}, 'Card ' || n, 'production', true, ${id('mod_')}, false, 1, ${at}, ${at}
      from generate_series(1, ${others}::integer) as n`)
  await db.execute(sql`insert into users (id, team_id, email, password_hash, role, created_at)
    select ${id('usr_')}, ${team}, n || '@lender.example', 'none', 'viewer', ${at}
      from generate_series(1, ${others}::integer) as n`)
}
