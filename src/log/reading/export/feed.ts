import { LOG_PAGE } from '../../../../schemas/scores.ts'
import { AppError } from '../../../errors.ts'
import { type Actor, auditRecord, type NewAuditRecord } from '../../../identity/audit/record.ts'
import type { Clock } from '../../../platform/clock.ts'
import { TeamLimiter } from '../../../platform/team-limiter.ts'
import { TurnTaker } from '../../../platform/turn-taker.ts'
import type { RowTexts } from './columns.ts'
import { type DrainedScores, readFeedPosition } from './drained-scores.ts'
import { type LogExportFormat, makeRowWriter } from './formats.ts'

interface FeedQuery {
  readonly after: string
  readonly limit?: number | undefined
  readonly format?: LogExportFormat | undefined
  /** A deployment of the team, checked by the caller; absent: all. */
  readonly deployment?: string | undefined
}

interface FeedPage {
  readonly body: Buffer
  /** The beginning of the next page; `after` itself when nothing is newer. */
  readonly next: string
  /** Scores that the page passes over, because their day has left the log. */
  readonly expired: number
}

interface ScoreFeedOptions {
  readonly drained: DrainedScores
  readonly store: { record(record: NewAuditRecord): Promise<void> }
  readonly clock: Clock
}

/** Pages that are read at once in a process; each is in memory as a whole. */
const PAGES = { teamMax: 2, max: 4 }
/** Rows that are written without a look at the clock: a millisecond. */
const ROWS_AT_ONCE = 500

/** Hands out the score log of a team page by page, each score once. */
export class ScoreFeed {
  private readonly options: ScoreFeedOptions
  private readonly pages = new TeamLimiter(PAGES)

  constructor(options: ScoreFeedOptions) {
    this.options = options
  }

  /**
   * Reads the scores after a position. The audit record of a page with scores is stored before the
   * page is returned.
   *
   * @throws AppError `invalid_request`; `unavailable` when too many pages are read, or scores can't
   *   be read
   */
  async read(actor: Actor, query: FeedQuery): Promise<FeedPage> {
    const { after, limit = LOG_PAGE.default, format = 'ndjson', deployment } = query
    const position = readFeedPosition(after)
    const release = this.pages.reserve(actor.teamId, teamPages)
    try {
      const { drained, store, clock } = this.options
      const deploymentId = deployment ?? null
      const order = { teamId: actor.teamId, after: position, limit, deploymentId }
      const { rows, next, scores, expired } = await drained.read(order)
      if (scores > 0) {
        const asked = { format, after, next, scores, deployment_id: deploymentId }
        const change = {
          action: 'log.export',
          subject: deployment ?? actor.teamId,
          after: asked,
        } as const
        await store.record(auditRecord(actor, change, clock.epochMs()))
      }
      return { body: await makeFile(rows, format), next: next ?? after, expired }
    } finally {
      release()
    }
  }
}

async function makeFile(rows: readonly RowTexts[], format: LogExportFormat): Promise<Buffer> {
  const writer = makeRowWriter(format)
  const turns = new TurnTaker()
  const chunks: Buffer[] = []
  const add = (chunk: string | Uint8Array) => void chunks.push(Buffer.from(chunk as Uint8Array))
  try {
    for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
      add(await writer.write(rows.slice(at, at + ROWS_AT_ONCE)))
      await turns.giveWay()
    }
    add(await writer.end())
    return Buffer.concat(chunks)
  } finally {
    await writer.close()
  }
}

function teamPages(): AppError {
  const message = `the team reads ${PAGES.teamMax} pages of the log: try again when one has ended`
  return new AppError('unavailable', message)
}
