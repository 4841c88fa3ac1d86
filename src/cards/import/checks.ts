import { open } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { AppError } from '../../errors.ts'
import type { UserCaller } from '../../http/access/caller.ts'
import type { Uploads } from '../../jobs/batches/uploads.ts'
import type { Job, JobHandler } from '../../jobs/job.ts'
import type { JobService } from '../../jobs/service.ts'
import type { Clock } from '../../platform/clock.ts'
import { newId } from '../../platform/ids.ts'
import { parseCardJson } from '../../platform/json.ts'
import { checkFile } from './thread.ts'

export const CHECK_JOB = 'check'

/** A file that was sent: its first line says what to check, and how; applicants follow. */
interface ReceivedCheck {
  /** The first line as JSON. */
  readonly order: unknown
  /** Starts the check. @throws AppError `unavailable` if the team has too many jobs */
  start(caller: UserCaller): Promise<Job>
  /** Removes the file, unless its check was started. */
  discard(): Promise<void>
}

/** Kept with the job. */
interface CheckInput {
  readonly file: string
  /** Offset of the applicants. */
  readonly from: number
  /** About how many there are. */
  readonly rows: number
}

interface CheckServiceOptions {
  readonly jobs: JobService
  readonly uploads: Uploads
  /** Directory of `uploads`. */
  readonly directory: string
  /** Names the directory: only processes that have it run its jobs. */
  readonly place: string
  readonly clock: Clock
  /** Longest file. */
  readonly bytesMax: number
}

const NEWLINE = 0x0a
const REPORT_EVERY_MS = 1_000
/** A sample is read twice: to find its faults, and to compare it. */
const PASSES = 2

/**
 * Compares cards with samples that are larger than the body of a request. They go to the disk as
 * they come, and a job reads them from there. A check stores nothing but the result of its job.
 */
export class CheckService {
  /** Longest file. */
  readonly bytesMax: number
  private readonly options: CheckServiceOptions

  constructor(options: CheckServiceOptions) {
    this.options = options
    this.bytesMax = options.bytesMax
  }

  /**
   * Receives a file.
   *
   * @param orderBytesMax of the first line
   * @throws AppError `payload_too_large`, `invalid_request`, `unavailable`
   */
  async receive(body: AsyncIterable<Uint8Array>, orderBytesMax: number): Promise<ReceivedCheck> {
    const { jobs, uploads, place, clock, bytesMax } = this.options
    const counted = { lines: 0 }
    const { source, discard } = await uploads.receive(newId('job_', clock.epochMs()), {
      body: countLines(body, counted),
      bytesMax,
    })
    let isStarted = false
    try {
      const line = await readFirstLine(source.path ?? '', orderBytesMax)
      const input: CheckInput = {
        file: basename(source.path ?? ''),
        from: line.length + 1,
        rows: Math.max(1, counted.lines - 1),
      }
      return {
        order: parseCardJson(line.toString()),
        start: async (caller) => {
          const job = await jobs.start(caller, CHECK_JOB, input, { about: {}, place })
          isStarted = true
          return job
        },
        discard: async () => {
          if (!isStarted) await discard()
        },
      }
    } catch (error) {
      await discard()
      throw error
    }
  }

  /** Runs a check, and removes its file. */
  readonly run: JobHandler = async (input, { signal, report }) => {
    const { file, from, rows } = input as CheckInput
    const read = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
    const reportRead = () => {
      const done = Math.floor(Atomics.load(read, 0) / PASSES)
      report({ done: Math.min(rows, done), total: rows })
    }
    const reporting = setInterval(reportRead, REPORT_EVERY_MS)
    try {
      const path = join(this.options.directory, file)
      const result = await checkFile({ path, from, read }, signal)
      const total = result.parity?.rows ?? rows
      report({ done: total, total })
      return result
    } finally {
      clearInterval(reporting)
      // Another run may have it. What nobody reads is removed as uploads are that were not used.
      if (!signal.aborted) await this.options.uploads.remove(file)
    }
  }
}

async function* countLines(
  body: AsyncIterable<Uint8Array>,
  counted: { lines: number },
): AsyncGenerator<Uint8Array> {
  for await (const part of body) {
    for (let at = part.indexOf(NEWLINE); at >= 0; at = part.indexOf(NEWLINE, at + 1)) {
      counted.lines++
    }
    yield part
  }
}

/** @throws AppError `payload_too_large`, `invalid_request` */
async function readFirstLine(path: string, bytesMax: number): Promise<Buffer> {
  const file = await open(path, 'r')
  try {
    const { size } = await file.stat()
    const bytes = Buffer.alloc(Math.min(size, bytesMax + 1))
    await file.read(bytes, 0, bytes.length, 0)
    const end = bytes.indexOf(NEWLINE)
    if (end >= 0) return bytes.subarray(0, end)
    if (size > bytesMax) {
      const message = `the first line, with the card, is longer than the ${bytesMax} bytes that it may have`
      throw new AppError('payload_too_large', message)
    }
    throw new AppError('invalid_request', 'the file has one line: send the applicants after it')
  } finally {
    await file.close()
  }
}
