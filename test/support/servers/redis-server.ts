import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { freePort } from './free-port.ts'

/** A Redis server for one test, which may stop it. */
export class RedisServer {
  readonly port: number
  private readonly extra: readonly string[]
  private readonly directory = mkdtempSync(join(tmpdir(), 'scoreline-redis-'))
  private child: ChildProcess | null = null

  /** @param extra further arguments of the program */
  protected constructor(port: number, extra: readonly string[] = []) {
    this.port = port
    this.extra = extra
  }

  static async start(): Promise<RedisServer> {
    const redis = new RedisServer(await freePort())
    await redis.restart()
    return redis
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  /** Starts it again, empty, and waits until it answers. */
  async restart(): Promise<void> {
    const args = ['--port', `${this.port}`, '--save', '', '--appendonly', 'no', ...this.extra]
    this.child = spawn('redis-server', [...args, '--bind', '127.0.0.1', '--dir', this.directory], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    const client = this.client()
    await client.ping()
    client.disconnect()
  }

  signal(signal: NodeJS.Signals): void {
    this.child?.kill(signal)
  }

  async kill(): Promise<void> {
    const { child } = this
    this.child = null
    if (child === null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }

  /** A connection to look with, which waits for the server to come. */
  client(): Redis {
    const client = new Redis(this.url, { retryStrategy: () => 20, maxRetriesPerRequest: null })
    client.on('error', () => undefined)
    return client
  }

  async remove(): Promise<void> {
    await this.kill()
    rmSync(this.directory, { recursive: true, force: true })
  }
}
