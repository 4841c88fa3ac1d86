import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { ScoringService } from '../../../src/scoring/service.ts'
import { card, plainFeature } from '../../support/cards/cards.ts'
import { lastBackend } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'
import { Team } from '../../support/start/team.ts'

const BATCHES = 8
/** Longer than a turn may be. */
const WORK_MS = 10

describe.each([lastBackend])('batches on one connection, on $name', (backend) => {
  const service = TestService.forSuite(backend)
  const team = Team.forSuite(service)

  // One read of a connection brings them all: the scores of other connections waited for ten of 500.
  test('each batch that is sent without waiting for answers is scored in a turn of its own', async () => {
    const { slug } = await team.deploy(card([plainFeature('income')]))
    await service.app.listen({ port: 0, host: '127.0.0.1' })
    const turns: number[] = []
    let turn = 0
    let counting: NodeJS.Immediate
    const count = () => {
      turn++
      counting = setImmediate(count)
    }
    counting = setImmediate(count)
    onTestFinished(() => clearImmediate(counting))
    const { scoreBatch } = ScoringService.prototype
    const scoring = vi.spyOn(ScoringService.prototype, 'scoreBatch')
    onTestFinished(() => scoring.mockRestore())
    scoring.mockImplementation(function (this: ScoringService, ...batch) {
      turns.push(turn)
      const endsAtMs = performance.now() + WORK_MS
      while (performance.now() < endsAtMs);
      scoreBatch.apply(this, batch)
    })

    const socket = connect((service.app.server.address() as AddressInfo).port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    await once(socket, 'connect')
    const body = '{"records":[{"income":1}]}'
    const head = `POST /v1/score/${slug}/batch HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${team.key}\r\n`
    const length = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
    let answers = ''
    socket.on('data', (bytes) => {
      answers += bytes
    })
    socket.write((head + length + body).repeat(BATCHES))
    await expect.poll(() => answers.match(/HTTP\/1\.1 200 /g)?.length).toBe(BATCHES)
    expect(new Set(turns).size).toBe(BATCHES)
  })
})
