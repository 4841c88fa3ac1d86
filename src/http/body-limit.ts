import type { FastifyInstance } from 'fastify'

/**
 * The limit of a route's body: its own, or the limit of the service where that is smaller.
 *
 * @param bytesMax in bytes
 */
export function readBodyLimit(app: FastifyInstance, bytesMax: number): number {
  return Math.min(bytesMax, app.initialConfig.bodyLimit ?? bytesMax)
}

/** Limits the bodies of all routes that the plugin registers from here on without a limit. */
export function limitBodies(app: FastifyInstance, bytesMax: number): void {
  const bodyLimit = readBodyLimit(app, bytesMax)
  app.addHook('onRoute', (route) => {
    if (route.method !== 'GET') route.bodyLimit ??= bodyLimit
  })
}
