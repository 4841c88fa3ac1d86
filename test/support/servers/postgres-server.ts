import { execFile } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from './free-port.ts'
import { postgresPrograms } from './programs.ts'

const run = promisify(execFile)
const NOBODY = 65_534

/** Whether a server can be started here, as `.ci/run` does it. */
export const hasPostgresServer = postgresPrograms() !== null

/** A PostgreSQL server of a test's own, which it may stop. */
export class PostgresServer {
  readonly port: number
  private readonly programs: string
  private readonly directory: string

  private constructor(programs: string, directory: string, port: number) {
    this.programs = programs
    this.directory = directory
    this.port = port
  }

  static async start(): Promise<PostgresServer> {
    const server = await PostgresServer.seed()
    const superuser = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8']
    await server.run('initdb', ['-D', server.data, '--no-sync', ...superuser])
    await server.resume()
    return server
  }

  /**
   * A copy that follows a server by asynchronous streaming replication.
   *
   * @param port at which it reaches that server, which can be a proxy's
   */
  static async startStandby(port: number): Promise<PostgresServer> {
    const server = await PostgresServer.seed()
    const from = ['-h', '127.0.0.1', '-p', `${port}`, '-U', 'postgres']
    const copy = ['-D', server.data, '--no-sync', '-c', 'fast', '-X', 'stream', '-R']
    await server.run('pg_basebackup', [...from, ...copy])
    await server.resume()
    return server
  }

  private static async seed(): Promise<PostgresServer> {
    const programs = postgresPrograms()
    if (programs === null) throw new Error('there is no PostgreSQL server on this machine')
    const directory = mkdtempSync(join(tmpdir(), 'scoreline-server-'))
    if (isRoot()) chownSync(directory, await userId('postgres'), NOBODY)
    return new PostgresServer(programs, directory, await freePort())
  }

  /** Makes a standby a server that takes writes. */
  async promote(): Promise<void> {
    await this.run('pg_ctl', ['-D', this.data, '-w', '-t', '60', 'promote'])
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`
  }

  /** Ends it at once, connections and all. */
  async stop(): Promise<void> {
    await this.run('pg_ctl', ['-D', this.data, '-m', 'immediate', '-w', 'stop'])
  }

  /** Starts it as a standby that follows nobody, as a demoted primary does at first. */
  async resumeAsStandby(): Promise<void> {
    const signal = join(this.data, 'standby.signal')
    writeFileSync(signal, '')
    if (isRoot()) chownSync(signal, await userId('postgres'), NOBODY)
    await this.resume()
  }

  async resume(): Promise<void> {
    const options = `-c listen_addresses=127.0.0.1 -c port=${this.port} -c unix_socket_directories=${this.directory}`
    const log = join(this.directory, 'log')
    await this.run('pg_ctl', ['-D', this.data, '-l', log, '-w', '-t', '60', '-o', options, 'start'])
  }

  /** Has it speak TLS from now on; connections without TLS stay possible. */
  async useTls(certificate: string, key: string): Promise<void> {
    const [own, ownKey] = [join(this.directory, 'server.pem'), join(this.directory, 'server.key')]
    copyFileSync(certificate, own)
    copyFileSync(key, ownKey)
    chmodSync(ownKey, 0o600)
    if (isRoot()) {
      for (const file of [own, ownKey]) chownSync(file, await userId('postgres'), NOBODY)
    }
    const settings = `ssl = on\nssl_cert_file = '${own}'\nssl_key_file = '${ownKey}'\n`
    appendFileSync(join(this.data, 'postgresql.conf'), settings)
    await this.run('pg_ctl', ['-D', this.data, '-m', 'fast', '-w', 'stop'])
    await this.resume()
  }

  /** From now on asks a role for its password; all others are let in without one. */
  async askPassword(role: string): Promise<void> {
    const file = join(this.data, 'pg_hba.conf')
    const line = `host all ${role} 127.0.0.1/32 scram-sha-256\n`
    writeFileSync(file, line + readFileSync(file, 'utf8'))
    await this.run('pg_ctl', ['-D', this.data, 'reload'])
  }

  /** Process of the server; its children serve connections. */
  get processId(): number {
    const [id = ''] = readFileSync(join(this.data, 'postmaster.pid'), 'utf8').split('\n')
    return Number(id)
  }

  /** Sends a signal to the server and to all processes that serve its connections. */
  signal(signal: NodeJS.Signals): void {
    const server = `${this.processId}`
    const others = readFileSync(`/proc/${server}/task/${server}/children`, 'utf8').trim().split(' ')
    for (const id of [server, ...others].filter((one) => one !== '')) {
      process.kill(Number(id), signal)
    }
  }

  async drop(): Promise<void> {
    if (existsSync(join(this.data, 'postmaster.pid'))) await this.stop()
    rmSync(this.directory, { recursive: true, force: true })
  }

  private get data(): string {
    return join(this.directory, 'data')
  }

  /** PostgreSQL refuses to run as root. */
  private async run(program: string, args: readonly string[]): Promise<void> {
    const command = [join(this.programs, program), ...args]
    const [file = '', ...rest] = isRoot()
      ? ['runuser', '-u', 'postgres', '--', ...command]
      : command
    await run(file, rest, { cwd: this.directory })
  }
}

function isRoot(): boolean {
  return process.getuid?.() === 0
}

async function userId(name: string): Promise<number> {
  return Number((await run('id', ['-u', name])).stdout)
}
