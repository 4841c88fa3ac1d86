import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PGlite } from '@electric-sql/pglite'
import { sql } from 'drizzle-orm'
import { drizzle as drizzlePglite } from 'drizzle-orm/pglite'
import { migrate as migratePglite } from 'drizzle-orm/pglite/migrator'
import { drizzle } from 'drizzle-orm/postgres-js'
import { migrate } from 'drizzle-orm/postgres-js/migrator'
import postgres from 'postgres'
import type { Database } from '../../../src/platform/db/client.ts'
import { openEmbedded } from '../../../src/platform/db/embedded/embedded.ts'
import { MIGRATIONS } from '../../../src/platform/db/migrations.ts'
import { RollupSums } from '../../../src/rollups/rollup-sums.ts'
import { addToRollups } from '../../../src/score-log/drain/rollup-writer.ts'
import {
  FIELD_SEPARATOR,
  RECORD_FIELDS,
  type RecordField,
} from '../../../src/score-log/record/record-v3.ts'
import { FRAME_HEADER_BYTES, sealFrame } from '../../../src/score-log/spool/frames.ts'
import type { TestDatabase } from '../start/databases.ts'
import type { loggedRecord } from './records.ts'

/** The last migration before blocks. */
const LAST_MIGRATION = '0006_audit_log_positions'

type Logged = ReturnType<typeof loggedRecord>

/** Makes the tables of the version before blocks in an empty database; `work` writes to them. */
export async function withFirstForm(
  { databaseUrl, dataDir }: Pick<TestDatabase, 'databaseUrl' | 'dataDir'>,
  work: (db: Database) => Promise<void>,
): Promise<void> {
  const migrations = oldMigrations()
  try {
    if (databaseUrl !== null) {
      const client = postgres(databaseUrl, { max: 1, onnotice: () => {} })
      const db = drizzle({ client })
      await migrate(db, migrations)
      await work(db)
      await client.end()
      return
    }
    const onCrash = (error: Error) => {
      throw error
    }
    const embedded = await openEmbedded({ directory: join(dataDir, 'postgres'), onCrash })
    const db = drizzlePglite({ client: embedded as unknown as PGlite })
    await migratePglite(db, migrations)
    await work(db)
    await embedded.close()
  } finally {
    rmSync(migrations.migrationsFolder, { recursive: true, force: true })
  }
}

/** A copy of the migrations that ends before blocks. */
function oldMigrations(): { readonly migrationsFolder: string } {
  const migrationsFolder = mkdtempSync(join(tmpdir(), 'scoreline-migrations-'))
  cpSync(MIGRATIONS.migrationsFolder, migrationsFolder, { recursive: true })
  const path = join(migrationsFolder, 'meta/_journal.json')
  const journal = JSON.parse(readFileSync(path, 'utf8'))
  const last = journal.entries.findIndex(({ tag }: { tag: string }) => tag === LAST_MIGRATION)
  journal.entries.splice(last + 1)
  writeFileSync(path, JSON.stringify(journal))
  return { migrationsFolder }
}

/** Stores records as the version before did: rows, and their rollups in the same transaction. */
export async function storeAsRows(db: Database, logged: readonly Logged[]): Promise<void> {
  const sums = new RollupSums()
  for (const { record, served } of logged) sums.add(record, served)
  await db.transaction(async (tx) => {
    for (const { record } of logged) {
      const fields = record.payload.toString().split(FIELD_SEPARATOR)
      const field = (name: RecordField) => fields[RECORD_FIELDS.indexOf(name)] || null
      await tx.execute(sql`insert into score_log (scored_at, request_id, team_id, deployment_id,
          key_id, cache_version, bucket, latency_ms, is_batch, served_model_id, served_scores,
          served_pds, served_grades, results)
        values (to_timestamp(${field('scoredAtMs')}::float8 / 1000), ${field('requestId')},
          ${field('teamId')}, ${field('deploymentId')}, ${field('keyId')},
          ${field('cacheVersion')}::integer, ${field('bucket')}::integer,
          ${field('latencyMs')}::float8, ${field('isBatch')}::boolean, ${field('servedModelId')},
          ${field('servedScores')}::float8[], ${field('servedPds')}::float8[],
          ${field('servedGrades')}::json, ${field('results')}::json)`)
    }
    await addToRollups(tx, { writer: 'old', added: sums.rollups() })
  })
}

/** Leaves a spool directory as a killed process of the version before did: without an identity. */
export function leaveOldSpool(dataDir: string, name: string, logged: readonly Logged[]): void {
  const directory = join(dataDir, 'spool', name)
  mkdirSync(directory, { recursive: true })
  const frames = logged.map(({ record: { payload } }) => {
    const frame = Buffer.concat([Buffer.alloc(FRAME_HEADER_BYTES), payload])
    sealFrame(frame, 0, frame.length)
    return frame
  })
  writeFileSync(join(directory, '00000001.seg'), Buffer.concat(frames))
}
