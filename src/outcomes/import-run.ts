import type { Clock } from '../platform/clock.ts'
import { timeOfId } from '../platform/ids.ts'
import { TurnTaker } from '../platform/turn-taker.ts'
import type { ImportDirectory } from './import-files.ts'
import {
  type CsvHeader,
  LINE_BYTES_MAX,
  type LineValue,
  readCsvHeader,
  readCsvLine,
  readJsonLine,
} from './import-lines.ts'
import type { ImportStore, OutcomeImport } from './import-store.ts'
import {
  countStatuses,
  OUTCOME_STATUSES,
  type OutcomeCounts,
  type ReadItem,
  readItem,
} from './item.ts'
import { type JudgedItem, type OutcomeService, withStatuses } from './service.ts'
import type { OutcomeStore } from './store.ts'

/** A line of a file with the position of its end. */
interface Line {
  readonly number: number
  readonly bytes: number
  readonly endOffset: number
  /** Null for a blank line, and for the header. */
  readonly read: ReadItem | null
}

/** Lines that one pass over the log looks for: a round ends where either is reached. */
const ROUND_LINES = 10_000
const ROUND_BYTES = 8 * 1024 * 1024
/** Lines that one transaction stores. */
const STEP_LINES = 1_000
const ERRORS_MAX = 1_000

interface ImportRunOptions {
  readonly files: ImportDirectory
  readonly imports: ImportStore
  readonly outcomes: Pick<OutcomeService, 'judge'>
  readonly store: Pick<OutcomeStore, 'write'>
  readonly clock: Pick<Clock, 'epochMs'>
  /** Tells whether the process ends: the run then stops between two steps. */
  readonly isClosing: () => boolean
}

/**
 * Works off one import from where it stands. Each step stores outcomes and the position in one
 * transaction, so that a line counts once, however often the work is interrupted.
 */
export class ImportRun {
  private readonly options: ImportRunOptions
  private state: OutcomeImport
  /** Set once a step was left out because the process ends: none may follow it. */
  private isStopped = false

  constructor(options: ImportRunOptions, state: OutcomeImport) {
    this.options = options
    this.state = state
  }

  /**
   * @returns `stopped` if the process ends
   * @throws ImportMovedError if another process goes on with it
   */
  async run(): Promise<'done' | 'failed' | 'stopped'> {
    let header: CsvHeader | null = null
    if (this.state.format === 'csv') {
      const read = await this.readHeader()
      if (typeof read === 'string') {
        await this.fail(read)
        return 'failed'
      }
      header = read
    }
    let storing = Promise.resolve()
    let round: Line[] = []
    let roundBytes = 0
    for await (const line of this.lines(header)) {
      round.push(line)
      roundBytes += line.bytes
      if (round.length < ROUND_LINES && roundBytes < ROUND_BYTES) continue
      storing = (await this.storeAfter(storing, round)).done
      round = []
      roundBytes = 0
      if (this.options.isClosing()) {
        await storing
        return 'stopped'
      }
    }
    if (round.length > 0) storing = (await this.storeAfter(storing, round)).done
    await storing
    return this.isStopped ? 'stopped' : 'done'
  }

  private async readHeader(): Promise<CsvHeader | string> {
    for await (const { bytes } of this.options.files.parts(this.state.id, 0, LINE_BYTES_MAX)) {
      const end = bytes.indexOf(0x0a)
      return readCsvHeader(trimmed(end < 0 ? bytes : bytes.subarray(0, end)))
    }
    return 'the file is empty'
  }

  private async *lines(header: CsvHeader | null): AsyncGenerator<Line> {
    const { id, offset, lines } = this.state
    let number = lines
    const nowMs = this.options.clock.epochMs()
    const turns = new TurnTaker()
    for await (const part of this.options.files.parts(id, offset, LINE_BYTES_MAX)) {
      let at = 0
      while (at < part.bytes.length) {
        const found = part.bytes.indexOf(0x0a, at)
        const end = found < 0 ? part.bytes.length : found
        const bytes = trimmed(part.bytes.subarray(at, end))
        at = Math.min(part.bytes.length, end + 1)
        number++
        const isHeader = header !== null && number === 1
        const isBlank = isHeader || bytes.length === 0
        const read = header === null ? readJsonLine : (one: Buffer) => readCsvLine(one, header)
        yield {
          number,
          bytes: bytes.length,
          endOffset: at < part.bytes.length ? part.offset + at : part.endOffset,
          // What a line holds beyond its item is not kept: it can be many times the line.
          read: isBlank ? null : findItem(read(bytes), nowMs),
        }
        if (turns.isOver) await turns.giveWay()
      }
    }
  }

  /**
   * Matches a round while the round before it is stored: this process works while the database
   * does. Rounds are stored one after the other.
   *
   * @returns the storing of this round; wrapped, since it goes on
   */
  private async storeAfter(
    storing: Promise<void>,
    round: readonly Line[],
  ): Promise<{ readonly done: Promise<void> }> {
    const { sender } = this.state
    const read = round.flatMap(({ read }) => (read === null ? [] : [read]))
    // The error that is first in the file counts.
    const [stored, judged] = await Promise.allSettled([
      storing,
      this.options.outcomes.judge(sender, read),
    ])
    if (stored.status === 'rejected') throw stored.reason
    if (judged.status === 'rejected') throw judged.reason
    const done = this.store(round, judged.value)
    // The error is thrown where the storing is awaited.
    done.catch(() => undefined)
    return { done }
  }

  private async store(round: readonly Line[], judged: readonly JudgedItem[]): Promise<void> {
    let next = 0
    for (let start = 0; start < round.length; start += STEP_LINES) {
      this.isStopped ||= this.options.isClosing()
      if (this.isStopped) return
      const lines = round.slice(start, start + STEP_LINES)
      const ofLines = lines.map(({ read }) => (read === null ? null : (judged[next++] ?? null)))
      await this.step(lines, ofLines)
    }
  }

  private async step(
    lines: readonly Line[],
    judged: readonly (JudgedItem | null)[],
  ): Promise<void> {
    const { sender, id, offset } = this.state
    const items = judged.filter((one) => one !== null)
    const matched = items.flatMap(({ fact }) => (fact === null ? [] : [fact]))
    const held = items.flatMap(({ held }) => (held === null ? [] : [held]))
    let after = this.state
    await this.options.store.write({
      sender,
      matched,
      held,
      // The id has the time of the upload.
      receivedAtMs: timeOfId(id) ?? 0,
      settled: [],
      progress: (written) => {
        after = afterStep(this.state, lines, judged, withStatuses(items, written))
        const { counts, errors } = after
        const progress = { offset: after.offset, lines: after.lines, counts, errors }
        return { importId: id, fromOffset: offset, ...progress }
      },
    })
    this.state = after
  }

  private async fail(message: string): Promise<void> {
    const { id, offset, lines, counts } = this.state
    const errors = [{ line: 1, message }]
    await this.options.imports.move({
      importId: id,
      fromOffset: offset,
      offset,
      lines,
      counts,
      errors,
    })
  }
}

function afterStep(
  state: OutcomeImport,
  lines: readonly Line[],
  judged: readonly (JudgedItem | null)[],
  results: ReturnType<typeof withStatuses>,
): OutcomeImport {
  const errors = [...state.errors]
  const add = (line: number, message: string) => {
    if (errors.length < ERRORS_MAX) errors.push({ line, message })
  }
  let next = 0
  for (const [index, { number }] of lines.entries()) {
    if (judged[index] === null) continue
    const result = results[next++]
    if (result?.message == null) continue
    if (result.status !== 'unmatched' || result.isDropped) add(number, result.message)
  }
  const last = lines.at(-1)
  return {
    ...state,
    offset: last?.endOffset ?? state.offset,
    lines: last?.number ?? state.lines,
    counts: computeSum(state.counts, countStatuses(results)),
    errors,
  }
}

function computeSum(before: OutcomeCounts, more: OutcomeCounts): OutcomeCounts {
  const sums = OUTCOME_STATUSES.map((status) => [status, before[status] + more[status]])
  return Object.fromEntries(sums) as OutcomeCounts
}

function findItem({ value, fault }: LineValue, nowMs: number): ReadItem {
  return fault === null ? readItem(value, nowMs) : { item: null, fault }
}

/** Without the carriage return of a line, and the mark at the start of a file. */
function trimmed(bytes: Buffer): Buffer {
  const start = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0
  const end = bytes.at(-1) === 0x0d ? bytes.length - 1 : bytes.length
  return bytes.subarray(Math.min(start, end), end)
}
