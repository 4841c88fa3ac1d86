import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../support/servers/free-port.ts'
import { readMetric, startWithSample } from '../../support/start/running.ts'

const script = fileURLToPath(new URL('../../../docker/monitoring/probe.mjs', import.meta.url))

/** Starts the probe; returns its address once it has asked for its first score. */
async function startProbe(env: Readonly<Record<string, string>>): Promise<string> {
  const port = await freePort()
  const probe = spawn(process.execPath, [script], {
    env: { ...env, PROBE_PORT: String(port) },
    stdio: 'ignore',
  })
  onTestFinished(() => void probe.kill('SIGKILL'))
  const url = `http://127.0.0.1:${port}`
  while (!(await fetch(`${url}/metrics`).catch(() => null))?.ok) await sleep(50)
  return url
}

// When all replicas are gone nobody counts failed scores: only a caller from outside sees it.
test('the probe of docker/monitoring succeeds by a score and fails by anything else', async () => {
  const running = await startWithSample({}, onTestFinished)
  const slug = running.endpoint.split('/').at(-1) ?? ''
  const env = { PROBE_URL: running.url, PROBE_SLUG: slug }
  const good = await startProbe({ ...env, PROBE_KEY: running.key })
  expect(await readMetric(good, 'scoreline_probe_success')).toBe(1)
  expect(await readMetric(good, 'scoreline_probe_status')).toBe(200)
  expect(await readMetric(good, 'scoreline_probe_duration_seconds')).toBeLessThan(5)
  const refused = await startProbe({ ...env, PROBE_KEY: 'unknown' })
  expect(await readMetric(refused, 'scoreline_probe_success')).toBe(0)
  expect(await readMetric(refused, 'scoreline_probe_status')).toBe(401)
  await running.process.stop('SIGKILL')
  const silent = await startProbe({ ...env, PROBE_KEY: running.key })
  expect(await readMetric(silent, 'scoreline_probe_success')).toBe(0)
  expect(await readMetric(silent, 'scoreline_probe_status')).toBe(0)
})
