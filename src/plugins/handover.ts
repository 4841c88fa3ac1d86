import { Readable } from 'node:stream'
import fastifyPlugin from 'fastify-plugin'
import { handoverOf } from '../handover.ts'

/** Gives the body of a request that was handed over, which has been read from its connection already. */
export const handoverPlugin = fastifyPlugin(
  async (app) => {
    app.addHook('preParsing', (request, _reply, payload, done) => {
      const body = handoverOf(request.raw)?.body
      done(null, body ? Readable.from([body]) : payload)
    })
  },
  { name: 'handover', fastify: '5.x' },
)
