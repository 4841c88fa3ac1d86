import { type Actor, auditRecord, type NewAuditRecord } from '../../audit/record.ts'
import { AppError } from '../../errors.ts'
import type { Clock } from '../../platform/clock.ts'
import { Places } from '../../platform/places.ts'
import { readTimeRange } from '../../rollups/moment.ts'
import type { ScanQuery } from '../../score-log/reading/log-query.ts'
import type { LogReader } from '../../score-log/reading/log-reader.ts'
import type { StoredModels } from '../../score-log/reading/stored-models.ts'
import { TurnTaker } from '../../score-log/reading/turn-taker.ts'
import type { RowTexts } from './columns.ts'
import { type LogExportFormat, rowWriterOf } from './formats.ts'
import type { RowWriter } from './row-writer.ts'
import { ExportRows } from './rows.ts'

export interface LogExportQuery {
  readonly format?: LogExportFormat | undefined
  /** A deployment of the team, checked by the caller; absent: all. */
  readonly deployment?: string | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
}

interface LogExportOptions {
  readonly reader: LogReader
  readonly models: StoredModels
  /** Stores the audit record of an export. */
  readonly store: { record(record: NewAuditRecord): Promise<void> }
  readonly clock: Clock
}

/** Exports under way in a process: each reads the database and keeps a core busy. */
const EXPORTS = { ofOwnerMax: 2, max: 4 }
/** Rows of a chunk. */
const CHUNK_ROWS = 500

/** Exports the score log of a team. */
export class LogExportService {
  private readonly options: LogExportOptions
  private readonly running = new Places(EXPORTS)

  constructor(options: LogExportOptions) {
    this.options = options
  }

  /**
   * Exports the scores of a time range, oldest first within each form of the log. The audit record
   * is stored before the first chunk. Memory does not grow with the range.
   *
   * @throws AppError `invalid_request`; `unavailable` when too many exports are under way
   */
  async *export(actor: Actor, query: LogExportQuery): AsyncGenerator<string | Uint8Array> {
    const { format = 'ndjson', deployment, from, to } = query
    const range = readTimeRange(query)
    if (this.running.take(actor.teamId) !== null) {
      throw new AppError('unavailable', 'other exports are under way: try again when they are done')
    }
    let opened: RowWriter | null = null
    try {
      const writer = rowWriterOf(format)
      opened = writer
      const { store, clock } = this.options
      const after = {
        format,
        from: from ?? null,
        to: to ?? null,
        deployment_id: deployment ?? null,
      }
      const change = { action: 'log.export', subject: deployment ?? actor.teamId, after } as const
      await store.record(auditRecord(actor, change, clock.epochMs()))
      const scan = { teamId: actor.teamId, deploymentId: deployment ?? null, ...range }
      for await (const rows of this.rowsOf(scan)) {
        const chunk = await writer.write(rows)
        if (chunk.length > 0) yield chunk
      }
      yield await writer.end()
    } finally {
      this.running.leave(actor.teamId)
      await opened?.close()
    }
  }

  private async *rowsOf(scan: ScanQuery): AsyncGenerator<readonly RowTexts[]> {
    const { reader, models } = this.options
    const rows = new ExportRows()
    const turns = new TurnTaker()
    let chunk: RowTexts[] = []
    for await (const portion of reader.scan(scan)) {
      const ids = portion.flatMap((request) => request.models.map(({ modelId }) => modelId))
      const known = await models.get(ids)
      for (const request of portion) {
        for (const row of rows.rowsOf(request, known)) {
          chunk.push(row)
          if (chunk.length < CHUNK_ROWS) continue
          yield chunk
          chunk = []
          await turns.giveWay()
        }
      }
    }
    if (chunk.length > 0) yield chunk
  }
}
