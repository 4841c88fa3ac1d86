import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { sampleSpec } from '../cards/cards.ts'
import { embeddedDataDir } from './databases.ts'
import { post, ServiceProcess } from './process.ts'

export const PROCESS_OWNER = { email: 'owner@lender.example', password: 'a long enough password' }

/** A process of the service on a database of its own, with the sample deployed and a key for it. */
export interface RunningService {
  readonly process: ServiceProcess
  readonly url: string
  readonly endpoint: string
  readonly key: string
  /** Access token of the owner. */
  readonly token: string
}

/**
 * @param onEnd registers what is to be done when the test has ended, such as `onTestFinished`
 * @param command what to run in place of the service's own process
 */
export async function startWithSample(
  env: Readonly<Record<string, string>>,
  onEnd: (clean: () => Promise<void>) => void,
  ...command: readonly [file?: string, args?: readonly string[]]
): Promise<RunningService> {
  const dataDir = embeddedDataDir()
  const settings = {
    DATA_DIR: dataDir,
    BOOTSTRAP_OWNER_EMAIL: PROCESS_OWNER.email,
    BOOTSTRAP_OWNER_PASSWORD: PROCESS_OWNER.password,
    // Far above what a test asks for.
    RATE_LIMIT_PER_MINUTE: '1000000',
    ...env,
  }
  const process = ServiceProcess.start(settings, ...command)
  onEnd(async () => {
    await process.stop('SIGKILL')
    rmSync(join(dataDir, '..'), { recursive: true, force: true })
  })
  const url = await process.url()
  const login = await post(`${url}/api/auth/login`, PROCESS_OWNER)
  const token = String(login.body['access_token'])
  const order = { spec: sampleSpec(), environment: 'production', auto_deploy: true }
  const deployed = await post(`${url}/v1/models/deploy`, order, token)
  const { endpoint } = deployed.body['deployment'] as { endpoint: string }
  const created = await post(`${url}/v1/keys`, { name: 'a key' }, token)
  return { process, url, endpoint, key: String(created.body['key']), token }
}

/** Value of a metric on `/metrics`, by its whole name with labels. */
export async function readMetric(url: string, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const line = text.split('\n').find((one) => one.startsWith(`${name} `))
  return Number(line?.slice(name.length + 1) ?? Number.NaN)
}
