import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface, type Interface } from 'node:readline'

/** The kernel counts processor time in hundredths of a second, whatever its own clock does. */
const MS_PER_TICK = 10
const PAGE_BYTES = 4096
const ERROR_CHARS_MAX = 2000

interface ProcessCost {
  /** Processor time so far; NaN where the system is not Linux. */
  readonly cpuMs: number
  readonly rssBytes: number
}

/** A program in bench/peers or like them: answers each line of JSON with a line of JSON. */
export class PeerProcess {
  /** From its start until it was ready to score. */
  readonly startMs: number
  private readonly child: ChildProcess
  private readonly lines: AsyncIterator<string>

  private constructor(child: ChildProcess, lines: AsyncIterator<string>, startMs: number) {
    this.child = child
    this.lines = lines
    this.startMs = startMs
  }

  /** @throws Error with what the program said, when it ends before it is ready */
  static async start([program = '', ...args]: readonly string[]): Promise<PeerProcess> {
    const started = performance.now()
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] })
    let complaint = ''
    child.stderr.on('data', (text) => {
      complaint = (complaint + text).slice(-ERROR_CHARS_MAX)
    })
    const lines = formatLines(createInterface({ input: child.stdout }), () => complaint)
    await lines.next()
    return new PeerProcess(child, lines, performance.now() - started)
  }

  /** The caller knows what a program answers to its orders. */
  async ask<T>(order: object): Promise<T> {
    this.child.stdin?.write(`${JSON.stringify(order)}\n`)
    const { value } = await this.lines.next()
    return JSON.parse(value) as T
  }

  cost(): ProcessCost {
    if (process.platform !== 'linux') return { cpuMs: Number.NaN, rssBytes: Number.NaN }
    const read = (file: string) => readFileSync(`/proc/${this.child.pid}/${file}`, 'utf8')
    // The name of the program is in brackets, and may hold anything.
    const fields = read('stat')
      .replace(/^.*\) /s, '')
      .split(' ')
    const [user, system] = [Number(fields[11]), Number(fields[12])]
    const pages = Number(read('statm').split(' ')[1])
    return { cpuMs: (user + system) * MS_PER_TICK, rssBytes: pages * PAGE_BYTES }
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    this.child.kill()
    await once(this.child, 'exit')
  }
}

async function* formatLines(
  lines: Interface,
  complaint: () => string,
): AsyncGenerator<string, never> {
  for await (const line of lines) yield line
  throw new Error(`a peer has ended: ${complaint()}`)
}
