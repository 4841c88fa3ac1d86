import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below those that systems give to connections and to listeners that name none. */
const PORTS = { from: 10_000, to: 32_000 }
const TRIES = 100

/**
 * A port of the loopback that nobody listens on, and that nobody gets by chance: whoever is to
 * listen there may start late, or end and start again.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const port = randomInt(PORTS.from, PORTS.to)
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    server.close()
    await once(server, 'close')
    return port
  }
  throw new Error('no port is free')
}
