import { afterEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../../src/platform/clock.ts'
import { hasPostgres, postgres } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'

const MINUTE_MS = 60_000

// What it answers gets wrong times, and its neighbours would go on without it.
describe.skipIf(!hasPostgres)('a replica whose clock is wrong', () => {
  const services: TestService[] = []
  afterEach(() => services.pop()?.close())

  const startWith = async (aheadMs: number) => {
    const clock = { ...systemClock, epochMs: () => systemClock.epochMs() + aheadMs }
    const service = await TestService.start(postgres, { clock })
    services.push(service)
    return service
  }
  const metric = async (running: TestService, name: string) => {
    const lines = (await running.services.telemetry.metrics.text()).split('\n')
    return Number(
      lines
        .find((line) => line.startsWith(name))
        ?.split(' ')
        .at(-1),
    )
  }
  const ready = (running: TestService) => running.app.inject('/readyz')

  test.each([-90, 90])('by %i minutes is not ready, and says so', async (minutes) => {
    const running = await startWith(minutes * MINUTE_MS)
    await expect.poll(async () => (await ready(running)).statusCode).toBe(503)
    const { checks } = (await ready(running)).json()
    expect(checks.clock).toMatch(/^differs from the database's by (5399|5400|5401) s$/)
    expect(await metric(running, 'scoreline_ready{check="clock"}')).toBe(0)
    const aheadSec = await metric(running, 'scoreline_clock_ahead_seconds')
    expect(Math.abs(aheadSec - 60 * minutes)).toBeLessThan(2)
  })

  test('by ten minutes is ready, and has a metric for its alert', async () => {
    const running = await startWith(10 * MINUTE_MS)
    await expect.poll(() => metric(running, 'scoreline_clock_ahead_seconds')).toBeGreaterThan(598)
    expect((await ready(running)).statusCode).toBe(200)
    expect(await metric(running, 'scoreline_ready{check="clock"}')).toBe(1)
  })
})
