import { readFileSync } from 'node:fs'
import type { ClaimChange, ClaimReply, HeldClaim, LoadedKey, ScoreClaim } from './score-claim.ts'

/** A key that is claimed, or that the database has. */
export interface KeyClaim {
  readonly claim: ScoreClaim
  readonly state: 'claimed' | 'stored'
}

export interface KeyChange {
  readonly claim: ScoreClaim
  readonly change: ClaimChange
}

const DAY_SEC = 24 * 60 * 60
const STATES = { claimed: 'C', logged: 'L', stored: 'S' } as const
/**
 * Records for the scripts, one after the other, each byte a character:
 *
 *     claim  = name | state | rest
 *     change = name | id of the request that has the key | change | rest
 *     loaded = name | state | seconds since 1970, 10 digits | rest
 *     name   = 2 bytes of the key's hash, which name a bucket | 10 bytes, which name a field
 *     rest   = 8 bytes, the tag of the body | 22 characters, the id of a request
 *     change = L, it is logged | D, it is free | C, another request has claimed it
 *
 * A field has state, seconds and rest. A bucket of small hashes takes a third of the memory of keys.
 */
const BYTES = { BUCKET: 2, NAME: 12, TIME_END: 11, ID: 22, REST: 30 }
const ID_PREFIX = 'req_'
const NO_REST = ' '.repeat(BYTES.REST)
const TAG_END = BYTES.TIME_END + BYTES.REST - BYTES.ID
const VALUE_END = BYTES.TIME_END + BYTES.REST
const CONSTANTS = Object.entries({ DAY_SEC, ...BYTES }).map(([name, value]) => `${name} = ${value}`)
const SCRIPT_HEAD = `local ${Object.keys(BYTES).join()}, DAY_SEC\n${CONSTANTS.join('\n')}\n`

/** Reads a script, which knows the lengths of the records. */
export function readScript(name: string): string {
  return SCRIPT_HEAD + readFileSync(new URL(`./${name}.lua`, import.meta.url), 'utf8')
}

export function formatClaims(claims: readonly KeyClaim[]): Buffer {
  let records = ''
  for (const { claim, state } of claims) {
    records += formatName(claim.keyHash) + STATES[state] + formatRest(claim)
  }
  return toBytes(records)
}

export function formatChanges(changes: readonly KeyChange[]): Buffer {
  let records = ''
  for (const { claim, change } of changes) {
    records += formatName(claim.keyHash) + shortId(claim.requestId) + formatChange(change)
  }
  return toBytes(records)
}

export function formatLoaded(keys: readonly LoadedKey[]): Buffer {
  let records = ''
  for (const { keyHash, state, sinceSec, ...request } of keys) {
    const since = String(sinceSec).padStart(BYTES.TIME_END - 1, '0')
    const rest = state === 'stored' ? NO_REST : formatRest(request)
    records += formatName(keyHash) + STATES[state] + since + rest
  }
  return toBytes(records)
}

/**
 * Reads the answer to claims.
 *
 * @param answer the mark, and then number and value of each key that others have
 */
export function readReplies(
  [mark, ...held]: readonly (Buffer | number)[],
  claims: number,
): ClaimReply[] {
  const markText = (mark as Buffer | undefined)?.toString('latin1') ?? ''
  const replies = new Array<ClaimReply>(claims).fill({ held: null, mark: markText })
  for (let at = 0; at < held.length; at += 2) {
    const value = held[at + 1] as Buffer
    replies[(held[at] as number) - 1] = {
      held: readHeld(value.toString('latin1')),
      mark: markText,
    }
  }
  return replies
}

function formatName(keyHash: Uint8Array): string {
  return Buffer.from(keyHash.buffer, keyHash.byteOffset, BYTES.NAME).toString('latin1')
}

function formatRest({ bodyTag, requestId }: Omit<ScoreClaim, 'keyHash'>): string {
  return bodyTag + shortId(requestId)
}

function formatChange(change: ClaimChange): string {
  if (change === 'logged') return `L${NO_REST}`
  if (change === 'free') return `D${NO_REST}`
  return `C${formatRest(change)}`
}

function shortId(requestId: string): string {
  return requestId.slice(ID_PREFIX.length)
}

function readHeld(value: string): HeldClaim {
  const sinceSec = Number(value.slice(1, BYTES.TIME_END))
  const nowSec = Number(value.slice(VALUE_END))
  const letter = value.charAt(0)
  return {
    state: letter === 'C' ? 'claimed' : letter === 'L' ? 'logged' : 'stored',
    bodyTag: value.slice(BYTES.TIME_END, TAG_END),
    requestId: ID_PREFIX + value.slice(TAG_END, VALUE_END),
    ageMs: (nowSec - sinceSec) * 1_000,
  }
}

function toBytes(records: string): Buffer {
  return Buffer.from(records, 'latin1')
}
