import { sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/postgres-js'
import type { Sql } from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SignOnStore } from '../../../src/identity/auth/oidc/store.ts'
import { AuthStore } from '../../../src/identity/auth/store.ts'
import { KeyStore } from '../../../src/identity/keys/store.ts'
import { ServiceAccountStore } from '../../../src/identity/service-accounts/store.ts'
import { BatchStore } from '../../../src/jobs/batches/store.ts'
import { ManifestStore } from '../../../src/log/archive/manifest-store.ts'
import { readCursors } from '../../../src/log/drain/spool-cursors.ts'
import { TreeStore } from '../../../src/log/proof/tree-store.ts'
import { ImportStore } from '../../../src/outcomes/import-store.ts'
import { ForeignRowError } from '../../../src/platform/db/asked-rows.ts'
import { type Database, type DatabaseHandle, queryRows } from '../../../src/platform/db/client.ts'
import { Connection } from '../../../src/platform/db/connection.ts'
import { rootCause } from '../../../src/platform/db/errors.ts'
import { type Client, clientOn } from '../../../src/platform/db/pool.ts'
import { ModelStore } from '../../../src/registry/models/store.ts'
import { PostgresServingStore } from '../../../src/scoring/store.ts'
import { hasPostgres, postgres } from '../../support/start/databases.ts'
import { openTestDatabase } from '../../support/start/seeded-database.ts'

/** Two of each; those with 1 are asked for, and those with 2 come. */
const ROWS = [
  sql`insert into teams (id, name, created_at) values ('team_1', 'one', now()), ('team_2', 'two', now())`,
  ...[1, 2].flatMap((n) => [
    sql`insert into users (id, team_id, email, password_hash, role, created_at)
      values (${`usr_${n}`}, 'team_1', ${`${n}@lender.example`}, 'hash', 'owner', now())`,
    sql`insert into api_keys (id, team_id, name, key_hash, key_prefix, scopes, created_by, created_at)
      values (${`key_${n}`}, 'team_1', 'a key', ${`hash_${n}`}, 'sk_live_abcd', array['score'], 'usr_1', now())`,
    sql`insert into service_accounts (id, team_id, name, role, token_hash, token_prefix, created_by,
        created_at, expires_at)
      values (${`svc_${n}`}, 'team_1', 'one', 'viewer', ${`hash_${n}`}, 'sa', 'usr_1', now(), now() + interval '1 day')`,
    sql`insert into models (id, team_id, name, version, spec_version, spec, status, environment,
        deployed_by, created_at, updated_at)
      values (${`mdl_${n}`}, 'team_1', ${`model ${n}`}, '1', '1', '{}', 'active', 'production',
        'usr_1', now(), now())`,
    sql`insert into deployments (id, team_id, name, environment, champion_model_id, is_active,
        shadow_mode, cache_version, created_at, updated_at)
      values (${`dep_${n}`}, 'team_1', 'one', 'production', ${`mdl_${n}`}, true, false, 1, now(),
        now())`,
    sql`insert into refresh_tokens (token_hash, user_id, family_id, created_at, expires_at)
      values (${`hash_${n}`}, ${`usr_${n}`}, ${`fam_${n}`}, now(), now() + interval '1 day')`,
  ]),
  sql`insert into sign_on_identities (issuer, subject, user_id, created_at)
    values ('issuer', 'subject_1', 'usr_1', now()), ('issuer', 'subject_2', 'usr_2', now())`,
  sql`insert into jobs (id, team_id, kind, status, input, progress_done, progress_total, attempts,
      created_by, created_at) values ('job_1', 'team_1', 'batch', 'queued', '{}', 0, 0, 0, 'usr_1', now())`,
  sql`insert into batches (id, team_id, created_by, deployment_id, environment, state, options,
      input_key, input_bytes, input_version, is_upload, folder, place, request_seed, created_at)
    values ('job_1', 'team_1', 'usr_1', 'dep_1', 'production', '{}', '{}', 'a', 1, '1', true, 'f', 'p',
      's', now())`,
  sql`insert into outcome_imports (id, team_id, created_by, environment, format, status, "offset",
      lines, counts, errors, created_at, seen_at)
    values ('imp_1', 'team_1', 'usr_1', 'production', 'csv', 'running', 0, 0, '{}', '[]', now(), now())`,
  sql`insert into score_archive_files (key, day, kind, number, generation, row_count, records,
      applicants, bytes, sha256, row_groups, state, is_listed, archived_at, state_at, cleanings)
    values ('a', now(), 'part', 0, 1, 1, 1, 1, 1, '', '[]', 'live', true, now(), now(), 0)`,
  sql`insert into log_trees (team_id, size, edge, facts, sum) values ('team_1', 0, '', '', '')`,
  sql`insert into spool_cursors (spool_id, segment, "offset", updated_at) values ('spl_1', 7, 9, now())`,
]

describe.skipIf(!hasPostgres)('a driver that answers wrongly', () => {
  let handle: DatabaseHandle
  let connection: Connection

  beforeAll(async () => {
    const { databaseUrl: url } = await postgres.create()
    handle = await openTestDatabase({ databaseUrl: url, dataDir: '' })
    for (const statement of ROWS) await handle.db.execute(statement)
    connection = new Connection({ url: url ?? '' })
    await connection.open()
  })
  afterAll(async () => {
    await connection.end()
    await handle.close()
  })

  /** The real database, asked with other parameters than the caller's. */
  function askedWith(swap: (parameter: unknown) => unknown): Database {
    const real = clientOn(connection, 10_000)
    const client: Client = {
      ...real,
      unsafe: (text, parameters = []) => real.unsafe(text, parameters.map(swap)),
    }
    return drizzle({ client: client as unknown as Sql })
  }

  /** Asks for the same of the second user, key and so on, in the same team. */
  const others = () =>
    askedWith((one) =>
      typeof one === 'string' && !one.startsWith('team') ? one.replace(/1(?=@|$)/, '2') : one,
    )

  test.each<[string, (db: Database) => Promise<unknown>]>([
    ['a key', (db) => new KeyStore(db).findActive('hash_1')],
    ['a service account', (db) => new ServiceAccountStore(db).findHolder('hash_1')],
    ['a deployment', (db) => new PostgresServingStore(db).deploymentState('dep_1')],
    ['a model', (db) => new PostgresServingStore(db).readSpecText('mdl_1')],
    ['a model of a team', (db) => new ModelStore(db).find('team_1', 'mdl_1')],
    ['a user', (db) => new AuthStore(db).userById('usr_1')],
    ['a user with an address', (db) => new AuthStore(db).userByEmail('1@lender.example')],
    ['a session', (db) => new AuthStore(db).isOpen('fam_1', new Date())],
    ['a refresh token', (db) => new AuthStore(db).refreshTokenState('hash_1')],
    ['a signed-on session', (db) => new SignOnStore(db).findSession('hash_1', new Date())],
    ['a signed-on person', (db) => new SignOnStore(db).findUser('issuer', 'subject_1')],
  ])('gives nobody %s of another one', async (_, find) => {
    expect(await find(askedWith((one) => one))).toBeTruthy()
    await expect(find(others())).rejects.toThrow(ForeignRowError)
  })

  /** Finds nothing, except on a fresh connection. */
  function blind(): Database {
    const real = clientOn(connection, 10_000)
    const client: Client = {
      ...real,
      unsafe: () => real.unsafe('select 1 where false'),
    }
    const { afresh } = handle.db
    const db = drizzle({ client: client as unknown as Sql })
    return Object.assign(db, afresh !== undefined && { afresh })
  }

  const owner = {
    id: 'usr_3',
    teamId: 'team_3',
    email: '3@lender.example',
    passwordHash: 'hash',
    role: 'owner' as const,
    createdAt: new Date(),
  }
  const team = { id: 'team_3', name: 'three', createdAt: new Date() }

  test.each<[string, (db: Database) => Promise<unknown>, unknown]>([
    ['there is a user', (db) => new AuthStore(db).hasUsers(), true],
    ['there is an owner', (db) => new AuthStore(db).addFirstOwner(team, owner), false],
    ['a batch is there', (db) => new BatchStore(db).isGone('job_1'), false],
    ['an import is there', (db) => new ImportStore(db).isGone('imp_1'), false],
    ['the archive has files', (db) => new ManifestStore(db).hasFiles(), true],
    [
      'a team has a tree',
      async (db) => (await new TreeStore(db).head('team_1')).treeId !== null,
      true,
    ],
    [
      'a spool is known',
      async (db) => (await readCursors(db, ['spl_1'])).get('spl_1'),
      { segment: 7, offset: 9 },
    ],
  ])('is asked twice whether %s', async (_, ask, answer) => {
    expect(await ask(blind())).toEqual(answer)
  })

  test('is not asked for the same connection twice', async () => {
    const pid = async (db: Database) => {
      const [row] = await queryRows<{ pid: number }>(db, sql`select pg_backend_pid() as pid`)
      return row?.pid
    }
    const { db } = handle
    const before = await pid(db)
    const fresh = await Promise.all(Array.from({ length: 20 }, () => db.afresh?.(pid)))
    expect(new Set([before, ...fresh]).size).toBe(21)
    const open = async () => {
      const [row] = await queryRows<{ count: number }>(
        db,
        sql`select count(*)::integer as count from pg_stat_activity
          where datname = current_database() and application_name = 'scoreline'`,
      )
      return row?.count
    }
    // The ten of the pool, the one of this test, and those that are just ending.
    await expect.poll(open).toBeLessThanOrEqual(20)
  })

  // The driver counts on from the rows of the statement that failed.
  test('is found out by the number of the rows', async () => {
    const own = new Connection({ url: handle.url ?? '', settings: { statement_timeout: '500' } })
    await own.open()
    const slow = `select case when i > 3000 then pg_sleep(0.01)::text else 'x' end
      from generate_series(1, 100000) i`
    await expect(own.send({ text: slow }, 10_000)).rejects.toMatchObject({ code: '57014' })
    const next = own.send({ text: "select 'mine' as v" }, 10_000)
    expect(rootCause(await next.catch((error: unknown) => error))).toBeInstanceOf(ForeignRowError)
    expect(own.isOpen).toBe(false)
  })
})
