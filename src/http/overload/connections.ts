import { readFileSync } from 'node:fs'
import type { Server, Socket } from 'node:net'

/** File handles for everything but callers: databases, Redis, spool, archive, threads. */
const KEPT_HANDLES = 200
/** So many connections are taken under any limit: a service that takes none is of no use. */
const CONNECTIONS_MIN = 50

/**
 * Bounds the connections of callers. Without a bound of its own a process that runs out of file
 * handles can neither reach its database nor drain its log. Further connections are closed at once.
 */
export class Connections {
  open = 0
  refused = 0
  /** Null where the system names no limit of file handles. */
  readonly max: number | null

  constructor(handlesMax: number | null = readHandlesMax()) {
    this.max = handlesMax === null ? null : Math.max(CONNECTIONS_MIN, handlesMax - KEPT_HANDLES)
  }

  /** Bounds and counts those of a server. */
  watch(server: Server): void {
    if (this.max !== null) server.maxConnections = this.max
    server.on('drop', () => this.refused++)
    server.prependListener('connection', (socket: Socket) => {
      this.open++
      socket.once('close', () => this.open--)
    })
  }
}

/** The file handles that this process may have; null where the system does not say. */
function readHandlesMax(): number | null {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8')
    const [, soft = ''] = /^Max open files\s+(\d+)/m.exec(limits) ?? []
    return soft === '' ? null : Number(soft)
  } catch {
    return null
  }
}
