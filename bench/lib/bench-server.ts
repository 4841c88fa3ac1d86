import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { QUICK_START } from '../../src/platform/quick-start-argv.ts'
import { pinTo } from './cores.ts'
import type { ServerState } from './server-state.ts'

/** A server under load: what the load asks of it. */
export interface LoadedServer {
  readonly url: string
  state(): Promise<ServerState>
  stop(): Promise<void>
}

/** As `scoreline.sh` and the image start Node. */
const NODE_ARGV = ['--max-semi-space-size=32', ...QUICK_START]
const MEMORY_ENV = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '262144' }

/** A server that answers in a process of its own. */
export class BenchServer implements LoadedServer {
  readonly url: string
  private readonly child: ChildProcess

  private constructor(child: ChildProcess, { url }: ServerState) {
    this.child = child
    this.url = url
  }

  /** The service, with these settings. */
  static startService(env: Readonly<Record<string, string>>): Promise<BenchServer> {
    return BenchServer.start(new URL('./score-server.ts', import.meta.url), env)
  }

  /** @param program reports its state as `serveState` does */
  static async start(program: URL, env: Readonly<Record<string, string>>): Promise<BenchServer> {
    const child = fork(program, {
      env: { PATH: process.env['PATH'], ...MEMORY_ENV, ...env },
      execArgv: NODE_ARGV,
    })
    const state = await readState(child)
    const core = process.env['BENCH_SERVER_CORE']
    if (core !== undefined) pinTo(Number(core), child.pid)
    return new BenchServer(child, state)
  }

  state(): Promise<ServerState> {
    this.child.send('state')
    return readState(this.child)
  }

  async stop(): Promise<void> {
    this.child.kill()
    await once(this.child, 'exit')
  }
}

async function readState(child: ChildProcess): Promise<ServerState> {
  const ending = new AbortController()
  const { signal } = ending
  const ended = once(child, 'exit', { signal }).then(([code]) => {
    throw new Error(`the server ended with ${code}`)
  })
  ended.catch(() => undefined)
  try {
    const [state] = await Promise.race([once(child, 'message', { signal }), ended])
    return state as ServerState
  } finally {
    ending.abort()
  }
}
