import { addressText, readServer, type ServerAddress } from '../server-list.ts'
import { SLOTS } from './key-slots.ts'

/** The answer of a node that does not execute a command: the command was not run. */
export interface Redirect {
  /**
   * `moved`: the slot is on another node from now on. `ask`: the slot is being moved, and the other
   * node has this key. `again`: the slot is being moved, and its keys are on both nodes.
   */
  readonly kind: 'moved' | 'ask' | 'again'
  /** -1 if the node does not say. */
  readonly slot: number
  /** The node to ask, as `host:port`; the node that answered if there is no other. */
  readonly node: string
}

/** Nodes of a cluster by `host:port`, and the owner of each slot, null for none. */
export interface ClusterSlots {
  readonly nodes: ReadonlyMap<string, ServerAddress>
  readonly owners: readonly (string | null)[]
}

const REDIRECT = /^(MOVED|ASK) (\d{1,5}) (\S+)$/

/**
 * Reads the error of a command.
 *
 * @param asked the node that answered: a redirection may name only another port of its host
 * @returns null for any other error
 */
export function redirectIn(error: Error, asked: ServerAddress): Redirect | null {
  if (error.message.startsWith('TRYAGAIN')) {
    return { kind: 'again', slot: -1, node: addressText(asked) }
  }
  const [, kind = '', slot = '', at = ''] = REDIRECT.exec(error.message) ?? []
  if (kind === '') return null
  const colon = at.lastIndexOf(':')
  const host = at.slice(0, colon).replace(/^\[|\]$/g, '')
  const node = {
    host: host === '' || host === '?' ? asked.host : host,
    port: Number(at.slice(colon + 1)),
  }
  return { kind: kind === 'MOVED' ? 'moved' : 'ask', slot: Number(slot), node: addressText(node) }
}

/**
 * Reads the reply to `CLUSTER SLOTS`.
 *
 * @param asked the node that answered: the reply may leave its own host out
 * @returns null if the reply has another form or names no slot, as that of a node without a cluster
 */
export function readClusterSlots(reply: unknown, asked: ServerAddress): ClusterSlots | null {
  if (!Array.isArray(reply)) return null
  const nodes = new Map<string, ServerAddress>()
  const owners = new Array<string | null>(SLOTS).fill(null)
  for (const range of reply as unknown[]) {
    const [first, last, owner] = Array.isArray(range) ? (range as unknown[]) : []
    const node = readNode(owner, asked)
    if (node === null) continue
    const name = addressText(node)
    nodes.set(name, node)
    for (let slot = Number(first); slot <= Number(last) && slot < SLOTS; slot++) owners[slot] = name
  }
  return nodes.size === 0 ? null : { nodes, owners }
}

/** A node is its host, port, id and, since Redis 7, further facts. */
function readNode(node: unknown, asked: ServerAddress): ServerAddress | null {
  if (!Array.isArray(node)) return null
  const [host, port] = node as unknown[]
  // Redis 7 says null for the host that was asked.
  const name = typeof host === 'string' && host !== '' ? host : asked.host
  return name === '?' ? null : readServer(addressText({ host: name, port: Number(port) }), 0)
}
