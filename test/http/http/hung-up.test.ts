import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { ImportService } from '../../../src/cards/import/service.ts'
import { ModelService } from '../../../src/registry/models/service.ts'
import { BacktestService } from '../../../src/reports/backtest/service.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'
import { numberedSpec, Team } from '../../support/start/team.ts'

const spec = numberedSpec(1)
const DEPLOY = { spec, environment: 'staging', auto_deploy: false }
const IMPORT = { card: JSON.stringify(spec), name: 'Ladder' }
const BACKTEST = { spec, source: { deployment: 'ladder' } }

describe.each(backends)('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  const team = Team.forSuite(service)
  let port = 0

  beforeAll(async () => {
    await service.app.listen({ host: '127.0.0.1', port: 0 })
    port = (service.app.server.address() as AddressInfo).port
  })
  afterEach(() => vi.restoreAllMocks())

  // The check of a card may take seconds: for a client who has gone, nobody reads what it finds.
  test.each([
    ['POST /v1/models/deploy', DEPLOY, () => vi.spyOn(ModelService.prototype, 'deploy')],
    ['POST /v1/models/import', IMPORT, () => vi.spyOn(ImportService.prototype, 'import')],
    ['POST /v1/backtests', BACKTEST, () => vi.spyOn(BacktestService.prototype, 'start')],
  ])('%s ends its check when the client has hung up', async (route, order, spy) => {
    const started = Promise.withResolvers<void>()
    const ended = Promise.withResolvers<unknown>()
    spy().mockImplementation((...args: readonly unknown[]) => {
      const signal = [...args, ...args.flatMap((one) => Object.values(one ?? {}))].find(
        (one) => one instanceof AbortSignal,
      )
      started.resolve()
      return new Promise<never>((_, reject) => {
        signal?.addEventListener('abort', () => {
          ended.resolve(signal.reason)
          reject(signal.reason)
        })
      })
    })
    const client = connect(port, '127.0.0.1')
    await once(client, 'connect')
    const body = JSON.stringify(order)
    client.write(
      `${route} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${team.owner}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    )
    await started.promise
    client.destroy()
    expect(await ended.promise).toMatchObject({ message: 'the client has hung up' })
  })
})
