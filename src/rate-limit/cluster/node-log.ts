import { findSlot, SLOTS } from '../../platform/redis-cluster/key-slots.ts'
import { type Redirect, redirectIn } from '../../platform/redis-cluster/replies.ts'
import type { ServerAddress } from '../../platform/server-list.ts'
import { ELSEWHERE } from '../pending-requests.ts'
import type { CountingLog } from '../redis.ts'
import {
  type OnReply,
  QUOTA_KEY_PREFIX,
  type QuotaRequest,
  RedisAdmissionLog,
} from '../redis-admission-log.ts'

interface NodeLogOptions {
  readonly url: string
  readonly node: ServerAddress
  /** Tells whether the node has a part, as far as it is known. */
  readonly hasPart: (part: number) => boolean
  /** Receives what the node says of other nodes. */
  readonly onRedirect: (redirect: Redirect) => void
  readonly onOpen: () => void
  readonly onLost: (reason: string) => void
}

interface PartCall {
  readonly keys: string[]
  readonly wanted: QuotaRequest[]
  /** Positions of the answers. */
  readonly indices: number[]
  readonly isAsking: boolean
}

/** Reads a part's key and changes nothing. */
const NOTHING: QuotaRequest = { subject: '', quota: 0, requests: 0, redirect: null }

/**
 * The admissions of those subjects whose keys are on one node of a cluster.
 *
 * A call of the limiter becomes one call for each part of the subjects, all in one write, and their
 * answers become one. A node that does not have a key executes nothing; the answer then has
 * `ELSEWHERE` for its requests, and each of them says where to ask. If one part came too late, the
 * whole call did.
 */
export class NodeLog implements CountingLog {
  private readonly options: NodeLogOptions
  private readonly log: RedisAdmissionLog

  constructor(options: NodeLogOptions) {
    const { url, onOpen, onLost } = options
    this.options = options
    this.log = new RedisAdmissionLog({ url, onOpen, onLost })
  }

  count(wanted: readonly QuotaRequest[], notAfterMs: number, answered: OnReply): void {
    if (wanted.length === 0) {
      this.probe(notAfterMs, answered)
      return
    }
    const calls = callsFor(wanted)
    const answers = new Answers(wanted.length, calls.length, answered)
    this.log.together(() => {
      for (const call of calls) {
        const { keys, wanted: some, isAsking } = call
        this.log.countKeys(keys, some, { notAfterMs, isAsking }, (answer, failure, error) => {
          const redirect = answer === null ? this.readRedirect(error) : null
          for (const request of some) request.redirect = redirect
          if (redirect !== null) answers.takeRedirect(call.indices)
          else if (answer === null) answers.fail(failure)
          else answers.take(call.indices, answer)
        })
      }
    })
  }

  renew(): void {
    this.log.renew()
  }

  settle(): void {
    this.log.settle()
  }

  close(): void {
    this.log.close()
  }

  /**
   * Asks for a key of the node, because a cluster that is down answers only commands without keys.
   * Where the key is on its way to another node, a call without a key tells the time.
   */
  private probe(notAfterMs: number, answered: OnReply): void {
    const own = Array.from({ length: QUOTA_PARTS }, (_, part) => part).filter(this.options.hasPart)
    const keys = own.slice(0, 1).map((part) => quotaKey(part))
    const wanted = keys.map(() => NOTHING)
    const once = { notAfterMs, isAsking: false }
    this.log.countKeys(keys, wanted, once, (answer, failure, error) => {
      if (answer !== null) answered(answer.slice(0, 1), '')
      else if (this.readRedirect(error) === null) answered(null, failure)
      else this.log.countKeys([], [], once, answered)
    })
  }

  private readRedirect(error: Error | undefined): Redirect | null {
    const redirect = error === undefined ? null : redirectIn(error, this.options.node)
    if (redirect !== null) this.options.onRedirect(redirect)
    return redirect
  }
}

/** Requests that were redirected go alone: while a slot moves, its keys are on two nodes. */
function callsFor(wanted: readonly QuotaRequest[]): PartCall[] {
  const calls: PartCall[] = []
  const byPart = new Map<number, PartCall>()
  for (const [index, request] of wanted.entries()) {
    const part = findPart(request.subject)
    const { redirect } = request
    let call = redirect === null ? byPart.get(part) : undefined
    if (call === undefined) {
      call = { keys: [], wanted: [], indices: [], isAsking: redirect?.kind === 'ask' }
      calls.push(call)
      if (redirect === null) byPart.set(part, call)
    }
    call.keys.push(quotaKey(part, request.subject))
    call.wanted.push(request)
    call.indices.push(index)
  }
  return calls
}

/** Joins the answers of several calls to one, in the form of a single call. */
class Answers {
  private readonly joined: number[]
  private readonly answered: OnReply
  private open: number
  private isLate = false
  private failure: string | null = null

  /** @param calls number of answers to wait for */
  constructor(requests: number, calls: number, answered: OnReply) {
    this.joined = new Array<number>(1 + 3 * requests).fill(0)
    this.open = calls
    this.answered = answered
  }

  take(indices: readonly number[], answer: readonly number[]): void {
    this.joined[0] = answer[0] ?? 0
    if (answer.length === 1) this.isLate = true
    for (const [at, index] of indices.entries()) {
      for (let field = 1; field <= 3; field++) {
        this.joined[3 * index + field] = answer[3 * at + field] ?? 0
      }
    }
    this.end()
  }

  takeRedirect(indices: readonly number[]): void {
    for (const index of indices) this.joined[3 * index + 1] = ELSEWHERE
    this.end()
  }

  fail(failure: string): void {
    this.failure = failure
    this.end()
  }

  private end(): void {
    this.open--
    if (this.open > 0) return
    if (this.failure !== null) this.answered(null, this.failure)
    else this.answered(this.isLate ? this.joined.slice(0, 1) : this.joined, '')
  }
}

/**
 * Parts of the subjects that a cluster moves as a whole. All keys of one call must be in one slot:
 * with a slot for each subject there would be a call for each subject. A part has one slot, so that
 * the requests of a turn take at most as many calls as there are parts. More parts would be more
 * calls under load and no more even: the tags are chosen so that the slots of the parts have the
 * same distance, and 64 spread evenly over up to 64 nodes.
 */
export const QUOTA_PARTS = 64
const SLOTS_OF_PART = SLOTS / QUOTA_PARTS

/** The hash tag of each part: the smallest number whose own slot is among those of the part. */
const TAGS: readonly string[] = findTags()
const SLOT_BY_PART: readonly number[] = TAGS.map(findSlot)

/**
 * The part of a subject, for ever: its admissions are in one place.
 *
 * @returns from 0 to `QUOTA_PARTS` - 1
 */
export function findPart(subject: string): number {
  return Math.floor(findSlot(subject) / SLOTS_OF_PART)
}

/** The slot of all keys of a part. */
export function slotOfPart(part: number): number {
  return SLOT_BY_PART[part] ?? 0
}

/** The key of a subject; of the part itself without one. */
export function quotaKey(part: number, subject = ''): string {
  return `${QUOTA_KEY_PREFIX}{${TAGS[part]}}:${subject}`
}

function findTags(): string[] {
  const tags = new Map<number, string>()
  for (let number = 0; tags.size < QUOTA_PARTS; number++) {
    const part = findPart(String(number))
    if (!tags.has(part)) tags.set(part, String(number))
  }
  return Array.from({ length: QUOTA_PARTS }, (_, part) => tags.get(part) ?? '')
}
