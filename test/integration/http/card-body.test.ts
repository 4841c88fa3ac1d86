import { fastify } from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { acceptJsonOnly } from '../../../src/http/body-parser.ts'
import { card, numeric } from '../../support/cards/cards.ts'

const BINS = 1_000

/** A card of 20,000 bins, which is read in many turns. */
function largeCard(): object {
  const bins = Array.from({ length: BINS }, (_, n) => [`(${n}, ${n + 1}]`, n] as [string, number])
  return card(Array.from({ length: 20 }, (_, feature) => numeric(`f${feature}`, bins)))
}

// The budget for bodies holds the memory of a card as long as its client waits.
test.each([
  ['goes on while its client waits', false],
  ['ends when its client has hung up', true],
])('the reading of a card %s', async (_, hangsUp) => {
  const app = fastify()
  onTestFinished(() => app.close())
  acceptJsonOnly(app)
  const ends: string[] = []
  app.addHook('onRequest', (request, _reply, done) => {
    request.onBody = () => {
      // Some turns later, amid the reading.
      if (hangsUp) setImmediate(() => setImmediate(() => request.raw.socket.destroy()))
    }
    done()
  })
  app.setErrorHandler((error: Error, _request, reply) => {
    ends.push(error.message)
    return reply.code(400).send()
  })
  app.post('/', { config: { takesCard: true }, schema: { body: {} } }, async () => {
    ends.push('read')
    return {}
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const body = JSON.stringify({ spec: largeCard() })
  const headers = { 'content-type': 'application/json' }
  await fetch(url, { method: 'POST', headers, body }).catch(() => null)
  await expect.poll(() => ends).toEqual([hangsUp ? 'the client has hung up' : 'read'])
})
