import { AppError } from '../../../errors.ts'
import { type Actor, auditRecord, type NewAuditRecord } from '../../../identity/audit/record.ts'
import type { Clock } from '../../../platform/clock.ts'
import { TeamLimiter } from '../../../platform/team-limiter.ts'
import { TurnTaker } from '../../../platform/turn-taker.ts'
import { readTimeRange } from '../../rollups/moment.ts'
import type { ScanQuery } from '../log-query.ts'
import type { LogReader } from '../log-reader.ts'
import type { CellModels } from '../stored-models.ts'
import type { RowTexts, RowWriter } from './columns.ts'
import { type LogExportFormat, makeRowWriter } from './formats.ts'
import { listRows } from './rows.ts'

export interface LogExportQuery {
  readonly format?: LogExportFormat | undefined
  /** A deployment of the team, checked by the caller; absent: all. */
  readonly deployment?: string | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
}

interface LogExportOptions {
  readonly reader: LogReader
  readonly models: CellModels
  readonly store: { record(record: NewAuditRecord): Promise<void> }
  readonly clock: Clock
}

/** Exports under way in a process: each reads the database and keeps a core busy. */
const EXPORTS = { teamMax: 2, max: 4 }
/** A chunk is written in one turn, which takes a millisecond or two. */
const CHUNK_CHARS = 256 * 1024

export class LogExportService {
  private readonly options: LogExportOptions
  private readonly exports = new TeamLimiter(EXPORTS)

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
    const release = this.exports.reserve(actor.teamId, teamExports)
    let opened: RowWriter | null = null
    try {
      const writer = makeRowWriter(format)
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
      for await (const rows of this.listChunks(scan)) {
        const chunk = await writer.write(rows)
        if (chunk.length > 0) yield chunk
      }
      yield await writer.end()
    } finally {
      release()
      await opened?.close()
    }
  }

  private async *listChunks(scan: ScanQuery): AsyncGenerator<readonly RowTexts[]> {
    const { reader, models } = this.options
    const turns = new TurnTaker()
    let chunk: RowTexts[] = []
    let chars = 0
    for await (const portion of reader.scan(scan)) {
      const ids = portion.flatMap((request) => request.models.map(({ modelId }) => modelId))
      const known = await models.get(ids)
      for (const request of portion) {
        for (const row of listRows(request, known)) {
          chunk.push(row)
          for (const text of row) chars += text.length
          if (turns.isOver) await turns.giveWay()
          if (chars < CHUNK_CHARS) continue
          yield chunk
          chunk = []
          chars = 0
        }
      }
    }
    if (chunk.length > 0) yield chunk
  }
}

function teamExports(): AppError {
  const message = `the team has ${EXPORTS.teamMax} exports of the log under way: try again when one has ended`
  return new AppError('unavailable', message)
}
