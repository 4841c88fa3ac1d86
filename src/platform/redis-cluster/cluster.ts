import { openRedis, type RedisTarget } from '../redis.ts'
import { addressText, readServer, type ServerAddress } from '../server-list.ts'
import { findSlot } from './key-slots.ts'
import type { ClusterAddress } from './redis-url.ts'
import { type ClusterSlots, type Redirect, readClusterSlots, redirectIn } from './replies.ts'

/** Longest time that one node has to name the slots. */
const ASK_TIMEOUT_MS = 1_000
/** Interval at which it looks whether the slots must be read. */
const LOOK_EVERY_MS = 500
/** Interval at which the slots are read while nothing says that they moved. */
const READ_EVERY_MS = 10_000
/** After a redirection slots are read at once, but no more often. */
const READ_PAUSE_MS = 100

/**
 * Knows which node of a cluster has which slot.
 *
 * It reads the slots every 10 s, at once after a redirection, and twice a second while it knows
 * none or a part of the service says that it misses a node. Each reading has a connection of its
 * own, to one node after the other until one answers.
 *
 * ioredis' own `Cluster` is not used: on a lost connection it sends a command again that may have
 * been counted. It also resolves names to addresses, which certificates do not have; here each
 * connection goes to the host that the cluster names.
 */
export class RedisCluster {
  private readonly address: ClusterAddress
  private slots: ClusterSlots | null = null
  /** Names of nodes that a part of the service misses. */
  private readonly missed = new Set<string>()
  private readonly listeners: (() => void)[] = []
  private readonly looking: NodeJS.Timeout
  private reading: Promise<void> | null = null
  private isWanted = false
  private isClosed = false
  private readAtMs = Number.NEGATIVE_INFINITY
  private turns = 0

  constructor(address: ClusterAddress) {
    this.address = address
    this.looking = setInterval(() => this.look(), LOOK_EVERY_MS).unref()
  }

  /** Nodes with slots, by `host:port`; empty until the slots were read. */
  get nodes(): ReadonlyMap<string, ServerAddress> {
    return this.slots?.nodes ?? new Map()
  }

  /** The node of a slot as `host:port`; null if none has it, or it is not known. */
  findOwner(slot: number): string | null {
    return this.slots?.owners[slot] ?? null
  }

  /** The URL of a node for a plain connection. */
  formatUrl(node: ServerAddress): string {
    return this.address.formatUrl(node)
  }

  /** Calls a listener each time when slots or nodes have changed. */
  onChange(listener: () => void): void {
    this.listeners.push(listener)
  }

  /** Notes whether a part of the service misses a node: then another one may take its slots. */
  noteMissed(node: string, isMissed: boolean): void {
    if (!isMissed) this.missed.delete(node)
    else {
      this.missed.add(node)
      this.refresh()
    }
  }

  /** Notes what a node said; `moved` is in force at once. */
  noteRedirect({ kind, slot, node }: Redirect): void {
    if (kind !== 'moved') return
    const { slots } = this
    const server = readServer(node, 0)
    if (slots !== null && server !== null && slots.owners[slot] !== node) {
      const owners = slots.owners.with(slot, node)
      this.take({ nodes: new Map([...slots.nodes, [node, server]]), owners })
    }
    this.refresh()
  }

  /** Notes a refused command; returns whether another node has its key from now on. */
  noteRefusal(error: Error): boolean {
    const [seed] = this.address.seeds
    const redirect = seed === undefined ? null : redirectIn(error, seed)
    if (redirect !== null) this.noteRedirect(redirect)
    return redirect?.kind === 'moved'
  }

  /** Reads the slots soon. */
  refresh(): void {
    this.isWanted = true
    if (performance.now() - this.readAtMs >= READ_PAUSE_MS) this.look()
  }

  /** Resolves when the slots were read, or none of the seeds has named them. */
  async open(): Promise<void> {
    this.refresh()
    await this.reading
  }

  /** Connections to the node that has the slot of a hash tag when they are made. */
  findTarget(tag: string): RedisTarget {
    const slot = findSlot(tag)
    return this.target(() => this.nodes.get(this.findOwner(slot) ?? ''))
  }

  /** Connections to any node, each time to another one. */
  anyTarget(): RedisTarget {
    return this.target(() => undefined)
  }

  close(): void {
    this.isClosed = true
    clearInterval(this.looking)
  }

  private target(choose: () => ServerAddress | undefined): RedisTarget {
    const [seed = { host: '', port: 0 }] = this.address.seeds
    return { url: this.formatUrl(seed), next: () => choose() ?? this.nextNode() ?? seed }
  }

  private nextNode(): ServerAddress | undefined {
    const all = this.known()
    return all[this.turns++ % all.length]
  }

  private known(): ServerAddress[] {
    const { seeds } = this.address
    const names = new Set(seeds.map(addressText))
    return [...seeds, ...[...this.nodes].filter(([name]) => !names.has(name)).map(([, one]) => one)]
  }

  private look(): void {
    if (this.reading !== null || this.isClosed) return
    const isLong = performance.now() - this.readAtMs >= READ_EVERY_MS
    if (!this.isWanted && !isLong && this.slots !== null && this.missed.size === 0) return
    this.isWanted = false
    this.reading = this.read().finally(() => {
      this.readAtMs = performance.now()
      this.reading = null
    })
  }

  /** Never rejects. */
  private async read(): Promise<void> {
    const all = this.known()
    const first = this.turns++
    for (let turn = 0; turn < all.length && !this.isClosed; turn++) {
      const node = all[(first + turn) % all.length]
      const slots = node === undefined ? null : await this.ask(node)
      if (slots === null || this.isClosed) continue
      this.take(slots)
      return
    }
  }

  private async ask(node: ServerAddress): Promise<ClusterSlots | null> {
    const redis = openRedis(this.formatUrl(node), 'slots', () => null)
    const timer = setTimeout(() => redis.disconnect(), ASK_TIMEOUT_MS)
    try {
      await new Promise((resolve, reject) => {
        redis.once('ready', resolve)
        redis.once('end', reject)
      })
      return readClusterSlots(await redis.cluster('SLOTS'), node)
    } catch {
      // Another node is asked; while none answers, the parts of the service report their own loss.
      return null
    } finally {
      clearTimeout(timer)
      redis.disconnect()
    }
  }

  private take(slots: ClusterSlots): void {
    const old = this.slots
    this.slots = slots
    for (const node of this.missed) if (!slots.nodes.has(node)) this.missed.delete(node)
    const isSame = old !== null && slots.owners.every((owner, slot) => owner === old.owners[slot])
    if (!isSame) for (const listener of this.listeners) listener()
  }
}
