import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Checks that the service will be able to listen, before the start changes anything.
 *
 * @throws Error of the system, such as `EADDRINUSE`
 */
export async function requireFreePort(host: string, port: number): Promise<void> {
  const server = createServer().listen({ host, port })
  await once(server, 'listening')
  server.close()
  await once(server, 'close')
}
