import type { Clock } from '../../platform/clock.ts'
import type { RedisCluster } from '../../platform/redis-cluster/cluster.ts'
import { readServer, type ServerAddress } from '../../platform/server-list.ts'
import type { Limiter, LimiterCounters, LimiterPart, OnDecision } from '../limiter.ts'
import type { MemoryLimiter } from '../memory.ts'
import type { PendingRequests } from '../pending-requests.ts'
import { ANSWER_TIMEOUT_MS, RedisLimiter } from '../redis.ts'
import { findPart, NodeLog, QUOTA_PARTS, slotOfPart } from './node-log.ts'

interface ClusterLimiterOptions {
  readonly clock: Clock
  /** Decides while the node of a subject does not. */
  readonly local: MemoryLimiter
  readonly cluster: RedisCluster
  /** Called when a node with subjects is lost, with the reason, and when it is back. */
  readonly onTransition: (part: LimiterPart, reason: string) => void
  /** See `RedisLimiter`. */
  readonly onThrown: (error: unknown) => void
}

interface Node {
  readonly name: string
  readonly limiter: RedisLimiter
  /** When it last had a part, or was asked by way of another node. */
  usedAtMs: number
  /** Resolves once it is clear whether the node answers; null after that. */
  opening: Promise<void> | null
}

/** A call that a node did not execute. */
interface Sent {
  /** Name of the node. */
  readonly from: string
  readonly sentAtMs: number
}

/** Longest time that nodes may send a request on to each other; then this process decides it. */
const REDIRECTS_MAX = 5
/** Pause before a key is asked for again that is being moved. */
const AGAIN_AFTER_MS = 2
/** Longest time that requests wait for a node that the cluster has just named. */
const NEW_NODE_WAIT_MS = 50
/** A node without subjects is left after this time; its last answers have come by then. */
const UNUSED_MS_MAX = 5_000
/** Stands for the node of a part that none has. */
const NO_NODE = 'none'

/**
 * The limiter that replicas share, on a cluster: one `RedisLimiter` for each node with slots.
 *
 * A subject is in one of `QUOTA_PARTS` parts for ever, and all keys of a part are in one slot, so
 * the node of that slot decides. Each node has its own connection, clock, deadline and state: one
 * that is lost makes only its own subjects *degraded*. All nodes share the local limiter, so that a
 * part which moves takes along what this process has admitted.
 *
 * A node that does not have a slot any more executes nothing, and its requests go to the node that
 * it names. While a slot is being moved, its keys are asked for one by one.
 */
export class ClusterLimiter implements Limiter {
  readonly counters: LimiterCounters
  private readonly options: ClusterLimiterOptions
  private readonly nodes = new Map<string, Node>()
  /** The node of each part; null while none is known. */
  private byPart: readonly (Node | null)[] = new Array<null>(QUOTA_PARTS).fill(null)
  /** Counts of nodes that have left the cluster, and of requests without a node. */
  private readonly past = { degradations: 0, decidedDegraded: 0 }
  private readonly sweeping: NodeJS.Timeout
  /** True if a part has no node. */
  private isUncovered = false
  private isClosed = false

  constructor(options: ClusterLimiterOptions) {
    this.options = options
    this.counters = readCounters(this, () => [...this.nodes.values()], this.past)
    options.cluster.onChange(() => this.assign(NEW_NODE_WAIT_MS))
    this.sweeping = setInterval(() => this.sweep(), UNUSED_MS_MAX).unref()
  }

  decide(subject: string, quota: number, onDecision: OnDecision): void {
    const node = this.byPart[findPart(subject)] ?? null
    if (node === null) {
      this.past.decidedDegraded++
      this.options.local.decide(subject, quota, onDecision)
    } else if (node.opening === null) node.limiter.decide(subject, quota, onDecision)
    else this.decideOnceOpen(node.opening, { subject, quota }, onDecision)
  }

  /** The wait for the node and that for its answer have one end. */
  private decideOnceOpen(
    opening: Promise<void>,
    { subject, quota }: { subject: string; quota: number },
    onDecision: OnDecision,
  ): void {
    const bounded = boundDecision({
      withinMs: ANSWER_TIMEOUT_MS,
      onDecision,
      decideHere: (decided) => {
        this.past.decidedDegraded++
        this.options.local.decide(subject, quota, decided)
      },
      onThrown: this.options.onThrown,
    })
    const decide = () => {
      if (bounded.isOpen()) this.decide(subject, quota, bounded.take)
    }
    opening.then(decide).catch(this.options.onThrown)
  }

  findRoom(subject: string, quota: number): number {
    const node = this.byPart[findPart(subject)] ?? null
    return (node?.limiter ?? this.options.local).findRoom(subject, quota)
  }

  /** Each node with its share of the subjects; a part without a node has the name `none`. */
  parts(): readonly LimiterPart[] {
    const parts = new Map<string, number>()
    for (const node of this.byPart) {
      const name = node?.name ?? NO_NODE
      parts.set(name, (parts.get(name) ?? 0) + 1 / QUOTA_PARTS)
    }
    return [...parts].map(([node, share]) => {
      const { isDegraded } = this.nodes.get(node)?.limiter.counters ?? { isDegraded: true }
      return { node, share, isDegraded }
    })
  }

  /** Waits until the nodes are known and it is clear which answer, `timeoutMs` at the most. */
  async waitUntilClear(timeoutMs: number): Promise<void> {
    const late = Promise.withResolvers<void>()
    const timer = setTimeout(() => late.resolve(), timeoutMs)
    const all = async () => {
      await this.options.cluster.open()
      this.assign(timeoutMs)
      await Promise.all([...this.nodes.values()].map(({ opening }) => opening))
    }
    await Promise.race([all(), late.promise])
    clearTimeout(timer)
    this.noteUncovered()
  }

  close(): void {
    this.isClosed = true
    clearInterval(this.sweeping)
    for (const { limiter } of this.nodes.values()) limiter.close()
  }

  /** Gives each part to the node that has its slot. */
  private assign(waitMs: number): void {
    if (this.isClosed) return
    const { cluster, local, clock } = this.options
    const before = this.byPart
    this.byPart = before.map((_, part) => {
      const name = cluster.findOwner(slotOfPart(part))
      return name === null ? null : this.findNode(name, waitMs)
    })
    for (const [part, node] of this.byPart.entries()) {
      const old = before[part] ?? null
      if (old !== null && node !== old) old.usedAtMs = clock.monotonicMs()
      const isCounted = old?.limiter.counters.isDegraded === false || local.subjectCount === 0
      // The node has not seen the requests that were decided here.
      if (node !== old && !isCounted) node?.limiter.guard()
    }
    this.noteUncovered()
  }

  private noteUncovered(): void {
    const part = this.parts().find(({ node }) => node === NO_NODE)
    if (this.isUncovered === (part !== undefined)) return
    this.isUncovered = part !== undefined
    const { share = 0 } = part ?? {}
    const reason = this.isUncovered ? 'no node is known for it' : 'a node is known for it'
    this.options.onTransition({ node: NO_NODE, share, isDegraded: this.isUncovered }, reason)
  }

  private findNode(name: string, waitMs: number): Node | null {
    const known = this.nodes.get(name)
    if (known !== undefined) return known
    const server = readServer(name, 0)
    if (server === null) return null
    const limiter = this.openNode(name, server)
    const usedAtMs = this.options.clock.monotonicMs()
    const node: Node = { name, limiter, usedAtMs, opening: null }
    node.opening = limiter.waitUntilClear(waitMs).then(() => {
      node.opening = null
    })
    this.nodes.set(name, node)
    return node
  }

  private openNode(name: string, server: ServerAddress): RedisLimiter {
    const { clock, local, cluster, onThrown } = this.options
    return new RedisLimiter({
      clock,
      local,
      onThrown,
      open: (events) =>
        new NodeLog({
          url: cluster.formatUrl(server),
          node: server,
          hasPart: (part) => cluster.findOwner(slotOfPart(part)) === name,
          onRedirect: (redirect) => cluster.noteRedirect(redirect),
          ...events,
        }),
      onTransition: (isDegraded, reason) => this.noteTransition(name, isDegraded, reason),
      onElsewhere: (group, sentAtMs) => this.redirect(group, { from: name, sentAtMs }),
    })
  }

  private noteTransition(name: string, isDegraded: boolean, reason: string): void {
    this.options.cluster.noteMissed(name, isDegraded)
    const part = this.parts().find(({ node }) => node === name)
    if (part !== undefined) this.options.onTransition({ ...part, isDegraded }, reason)
  }

  private sweep(): void {
    const leftAtMs = this.options.clock.monotonicMs() - UNUSED_MS_MAX
    const used = new Set(this.byPart)
    for (const node of this.nodes.values()) {
      if (!used.has(node) && node.usedAtMs < leftAtMs) this.forget(node)
    }
  }

  private forget(node: Node): void {
    this.nodes.delete(node.name)
    const { degradations, decidedDegraded } = node.limiter.counters
    this.past.degradations += degradations
    this.past.decidedDegraded += decidedDegraded
    this.options.cluster.noteMissed(node.name, false)
    node.limiter.close()
  }

  /** Sends requests to the node that the one at `from` named. */
  private redirect(group: PendingRequests, { from, sentAtMs }: Sent): void {
    const { redirect } = group
    if (group.redirects === 0) this.boundWait(group, { from, sentAtMs })
    const isLost = redirect === null || this.isClosed || group.redirects >= REDIRECTS_MAX
    const node = isLost ? null : this.findNode(redirect.node, NEW_NODE_WAIT_MS)
    if (redirect === null || node === null) {
      this.decideHere(group, from)
      return
    }
    group.redirects++
    node.usedAtMs = this.options.clock.monotonicMs()
    const adopt = () => node.limiter.adopt(group)
    if (redirect.kind === 'again') setTimeout(adopt, AGAIN_AFTER_MS)
    else if (node.opening === null) adopt()
    else void node.opening.then(adopt)
  }

  /** Bounds the wait to that for a single call, however often requests are sent on. */
  private boundWait(group: PendingRequests, { from, sentAtMs }: Sent): void {
    const decideByMs = sentAtMs + ANSWER_TIMEOUT_MS
    group.decideByMs = decideByMs
    const decide = () => {
      if (group.requests > 0) this.decideHere(group, from)
    }
    const restMs = decideByMs - this.options.clock.monotonicMs()
    // If this process stood still, the answer may be ready: the event loop reads it first.
    setTimeout(() => setImmediate(decide), restMs)
  }

  private decideHere(group: PendingRequests, from: string): void {
    const { subject, quota, isNoted } = group
    const { local } = this.options
    const limiter = this.nodes.get(from)?.limiter
    if (limiter !== undefined) limiter.decideHere(group)
    else if (isNoted)
      group.settleEach((onDecision) => onDecision(local.findRoom(subject, quota), 0))
    else group.settleEach((onDecision) => local.decide(subject, quota, onDecision))
  }
}

function readCounters(
  limiter: ClusterLimiter,
  nodes: () => readonly Node[],
  past: { readonly degradations: number; readonly decidedDegraded: number },
): LimiterCounters {
  const sum = (name: 'degradations' | 'decidedDegraded') =>
    nodes().reduce((total, node) => total + node.limiter.counters[name], past[name])
  return {
    get isDegraded() {
      return limiter.parts().some(({ isDegraded }) => isDegraded)
    },
    get degradations() {
      return sum('degradations')
    },
    get decidedDegraded() {
      return sum('decidedDegraded')
    },
  }
}

interface BoundedOptions {
  readonly withinMs: number
  readonly onDecision: OnDecision
  /** Decides at once, when the time is over. */
  readonly decideHere: (onDecision: OnDecision) => void
  /** Receives what these throw when the time is over. */
  readonly onThrown: (error: unknown) => void
}

/** One decision that comes in time: from `take`, or else from the process itself. */
interface BoundedDecision {
  /** Tells whether nobody has decided yet. */
  readonly isOpen: () => boolean
  /** Decides, unless it is too late. */
  readonly take: OnDecision
}

export function boundDecision(options: BoundedOptions): BoundedDecision {
  const { withinMs, onDecision, decideHere, onThrown } = options
  let isOpen = true
  const decideNow = () => {
    if (!isOpen) return
    isOpen = false
    try {
      decideHere(onDecision)
    } catch (error) {
      onThrown(error)
    }
  }
  // If this process stood still, the decision may be ready: the event loop reads it first.
  const timer = setTimeout(() => setImmediate(decideNow), withinMs)
  const take: OnDecision = (remaining, retryAfterMs) => {
    if (!isOpen) return
    isOpen = false
    clearTimeout(timer)
    onDecision(remaining, retryAfterMs)
  }
  return { isOpen: () => isOpen, take }
}
