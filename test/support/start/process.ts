import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { QUICK_START } from '../../../src/platform/quick-start-argv.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
/** What the image and `scoreline.sh` set for the C library. */
export const MALLOC = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '262144' }
/** What they hand to Node. */
export const HEAP_FLAG = '--max-semi-space-size=32'
/** Workers start in two steps, and the machine may be busy with other tests. */
const START_TIMEOUT_MS = 110_000

/** A process of the service, as an operator starts it. */
export class ServiceProcess {
  readonly child: ChildProcess
  /** All that it printed so far, by stream and in the order in which it came. */
  stdout = ''
  stderr = ''
  output = ''
  private readonly ended: Promise<number | null>

  private constructor(
    file: string,
    args: readonly string[],
    env: Readonly<Record<string, string>>,
  ) {
    this.child = spawn(process.execPath, [HEAP_FLAG, ...QUICK_START, file, ...args], {
      cwd: ROOT,
      // Nothing of the test's own environment, which names its databases.
      env: { PATH: process.env['PATH'], PORT: '0', LOG_LEVEL: 'warn', ...MALLOC, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    for (const name of ['stdout', 'stderr'] as const) {
      this.child[name]?.setEncoding('utf8').on('data', (text: string) => {
        this[name] += text
        this.output += text
      })
    }
    this.ended = new Promise((resolve) => this.child.once('close', resolve))
  }

  static start(
    env: Readonly<Record<string, string>>,
    file = 'src/server.ts',
    args: readonly string[] = [],
  ): ServiceProcess {
    return new ServiceProcess(file, args, env)
  }

  /** @returns the URL that it answers at */
  async url(): Promise<string> {
    const [, url = ''] = await this.printed(/answers at (http:\/\/\S+)/)
    return url
  }

  /** Waits until its output matches. */
  printed(pattern: RegExp): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const match = pattern.exec(this.output)
        if (match !== null) finish(() => resolve(match))
      }
      const fail = () => finish(() => reject(new Error(`never printed ${pattern}: ${this.output}`)))
      const timer = setTimeout(fail, START_TIMEOUT_MS)
      const finish = (settle: () => void) => {
        clearTimeout(timer)
        for (const stream of [this.child.stdout, this.child.stderr]) stream?.off('data', look)
        this.child.off('close', fail)
        settle()
      }
      for (const stream of [this.child.stdout, this.child.stderr]) stream?.on('data', look)
      this.child.once('close', fail)
      look()
    })
  }

  /** @returns its exit code; null when a signal ended it */
  exit(): Promise<number | null> {
    return this.ended
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    this.child.kill(signal)
    return this.ended
  }
}

/** Sends JSON over a real socket. */
export async function post(
  url: string,
  body: object,
  token?: string,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}
