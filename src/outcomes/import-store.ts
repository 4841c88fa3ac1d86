import { type SQL, sql } from 'drizzle-orm'
import type { Environment } from '../http/access/caller.ts'
import type { NewAuditRecord } from '../identity/audit/record.ts'
import { insertAuditRecord } from '../identity/audit/writer.ts'
import { askTwice } from '../platform/db/asked-rows.ts'
import { type Database, DatabaseStore, queryRows, type Transaction } from '../platform/db/client.ts'
import { textList } from '../platform/db/lists.ts'
import { parseStoredJson } from '../platform/json.ts'
import type { OutcomeSender } from './fact-writer.ts'
import type { OutcomeCounts } from './item.ts'

export interface ImportStep {
  readonly importId: string
  /** The step is made only from here. */
  readonly fromOffset: number
  readonly offset: number
  readonly lines: number
  readonly counts: OutcomeCounts
  readonly errors: readonly { readonly line: number; readonly message: string }[]
}

export type ImportFormat = 'ndjson' | 'csv'

/** Another process has done this part of an import. */
export class ImportMovedError extends Error {
  constructor() {
    super('another process goes on with this import')
  }
}

export type NewImport = Pick<OutcomeImport, 'id' | 'sender' | 'format' | 'counts'>

/** A file of outcomes and how far it is done. */
export interface OutcomeImport {
  readonly id: string
  readonly sender: OutcomeSender
  readonly format: ImportFormat
  readonly status: 'running' | 'done' | 'failed'
  /** Number of bytes that are done. */
  readonly offset: number
  /** Number of lines that are done, the header of a CSV file included. */
  readonly lines: number
  readonly counts: OutcomeCounts
  /** The first ones. */
  readonly errors: readonly { readonly line: number; readonly message: string }[]
}

/** An import that no process has seen for so long is not under way: its files may be lost. */
const UNSEEN_MINUTES = 10
/** After so long its file is taken for lost. */
const LOST_HOURS = 24
const LOST = 'the process with the file has not been seen for a day: send the file again'

/** The progress of imports in PostgreSQL. */
export class ImportStore extends DatabaseStore {
  /** Imports of a team that processes have under way; see `see`. */
  running(teamId: string): Promise<number> {
    return runningImports(this.db, teamId)
  }

  /**
   * Stores an import as seen now.
   *
   * @returns false without a change if the team has `runningMax` under way
   */
  add(order: NewImport, record: NewAuditRecord, runningMax: number): Promise<boolean> {
    const { id, sender, format, counts } = order
    return this.db.transaction(async (tx) => {
      const lock = `imports of outcomes ${sender.teamId}`
      await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${lock}, 0))`)
      if ((await runningImports(tx, sender.teamId)) >= runningMax) return false
      await tx.execute(sql`insert into outcome_imports (id, team_id, created_by, environment,
          format, status, "offset", lines, counts, errors, created_at, seen_at)
        values (${id}, ${sender.teamId}, ${sender.by}, ${sender.environment}, ${format}, 'running',
          0, 0, ${JSON.stringify(counts)}::json, '[]'::json, now(), now())`)
      await insertAuditRecord(tx, record)
      return true
    })
  }

  /** Notes that this process has these imports. One that no process has is not under way. */
  async see(ids: readonly string[]): Promise<void> {
    await this.db.execute(sql`update outcome_imports set seen_at = now()
      where status = 'running'
        and id = any(${textList(ids)})`)
  }

  async find(id: string): Promise<OutcomeImport | null> {
    const [row] = await queryRows<{
      id: string
      team_id: string
      created_by: string
      environment: Environment | null
      format: OutcomeImport['format']
      status: OutcomeImport['status']
      at: number
      lines: number
      counts: string
      errors: string
    }>(
      this.db,
      sql`select id, team_id, created_by, environment, format, status, "offset"::float8 as at,
          lines::float8 as lines, counts::text as counts, errors::text as errors
        from outcome_imports where id = ${id}`,
    )
    if (row === undefined) return null
    return {
      id,
      sender: { teamId: row.team_id, environment: row.environment, by: row.created_by },
      format: row.format,
      status: row.status,
      offset: row.at,
      lines: row.lines,
      counts: parseStoredJson(row.counts) as OutcomeCounts,
      errors: parseStoredJson(row.errors) as OutcomeImport['errors'],
    }
  }

  /** Tells whether there is no such import; it asks twice, since its file is removed then. */
  async isGone(id: string): Promise<boolean> {
    const found = await askTwice(this.db, async (db) => {
      const rows = await queryRows(db, sql`select 1 from outcome_imports where id = ${id}`)
      return rows.length > 0 ? rows : null
    })
    return found === null
  }

  async end(id: string, status: 'done' | 'failed'): Promise<void> {
    await this.db.execute(sql`update outcome_imports set status = ${status}, finished_at = now()
      where id = ${id} and status = 'running'`)
  }

  /** Ends an import that can't go on, and says why at the line where it stands. */
  async fail(id: string, message: string): Promise<void> {
    await this.db.execute(sql`${failedWith(message)} where status = 'running' and id = ${id}`)
  }

  /** Ends imports that no process has had for a day as failed, and says so in their errors. */
  async failUnseen(): Promise<void> {
    await this.db.execute(sql`${failedWith(LOST)} where status = 'running'
        and coalesce(seen_at, created_at) < now() - make_interval(hours => ${LOST_HOURS}::integer)`)
  }

  /** @throws ImportMovedError */
  async move(step: ImportStep): Promise<void> {
    await this.db.transaction((tx) => moveImport(tx, step))
  }
}

function failedWith(message: string): SQL {
  return sql`update outcome_imports set status = 'failed', finished_at = now(),
    errors = (errors::jsonb || jsonb_build_array(
      jsonb_build_object('line', lines + 1, 'message', ${message}::text)))::json`
}

/**
 * Moves the progress of an import in a transaction that stores its outcomes: a line counts once,
 * whoever reads it.
 *
 * @throws ImportMovedError if another process has moved it
 */
export async function moveImport(tx: Transaction, step: ImportStep): Promise<void> {
  const moved = await queryRows<{ id: string }>(
    tx,
    sql`update outcome_imports set "offset" = ${step.offset}, lines = ${step.lines},
        counts = ${JSON.stringify(step.counts)}::json,
        errors = ${JSON.stringify(step.errors)}::json
      where id = ${step.importId} and status = 'running' and "offset" = ${step.fromOffset}
      returning id`,
  )
  if (moved.length === 0) throw new ImportMovedError()
}

async function runningImports(db: Database | Transaction, teamId: string): Promise<number> {
  const [row] = await queryRows<{ running: number }>(
    db,
    sql`select count(*)::float8 as running from outcome_imports
      where team_id = ${teamId} and status = 'running'
        and seen_at > now() - make_interval(mins => ${UNSEEN_MINUTES}::integer)`,
  )
  return row?.running ?? 0
}
