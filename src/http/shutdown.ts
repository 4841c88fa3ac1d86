import { setTimeout } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Readiness } from './health.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Ends the listener without breaking a connection that is in use. */
    closeGently(): Promise<void>
    readonly closing: Closing
  }
}

/** State of a server that `closeGently` may end. */
export interface Closing {
  readonly hasBegun: boolean
}

/** For so long, answers on busy connections say that the connection ends. */
const CLOSE_GRACE_MS = 500
/** Requests in flight may take this long after that; the rest is cut off. */
const GRACE_MS = 4_000
const IDLE_SWEEP_MS = 50

/**
 * Closing in three states: *farewell*, when the process is not ready any more, and requests are
 * answered with `Connection: close`, so that a client on a busy connection never meets a closed
 * one; *grace*, when no connection is accepted and those that are idle end; *cut off*, when all
 * end.
 */
export const shutdownPlugin = fastifyPlugin<{ readonly readiness: Readiness }>(
  async (app, { readiness }) => {
    const closing = { hasBegun: false }
    readiness.add('process', () => (closing.hasBegun ? 'closing' : null))

    app.addHook('onRequest', (_request, reply, done) => {
      if (closing.hasBegun) reply.header('connection', 'close')
      done()
    })

    app.decorate('closing', closing)
    app.decorate('closeGently', async function closeGently(this: FastifyInstance) {
      closing.hasBegun = true
      if ((await connectionCount(this)) > 0) await setTimeout(CLOSE_GRACE_MS)
      const sweep = setInterval(() => this.server.closeIdleConnections(), IDLE_SWEEP_MS)
      const deadline = new AbortController()
      const cutOff = setTimeout(GRACE_MS, undefined, { signal: deadline.signal, ref: false })
      cutOff.then(
        () => this.server.closeAllConnections(),
        () => undefined,
      )
      await this.close()
      deadline.abort()
      clearInterval(sweep)
    })
  },
  { name: 'shutdown', fastify: '5.x' },
)

function connectionCount(app: FastifyInstance): Promise<number> {
  return new Promise((resolve) => {
    app.server.getConnections((error, count) => resolve(error === null ? count : 1))
  })
}
