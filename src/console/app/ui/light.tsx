import type { ReactNode } from 'react'
import type { Schemas, Verdict } from '../api/types.ts'
import { type LightKind, VERDICTS } from './light-kind.ts'

export type { LightKind } from './light-kind.ts'

const SIGNS: Readonly<Record<LightKind, ReactNode>> = {
  good: (
    <>
      <circle cx="8" cy="8" r="7" />
      <path className="sign" d="M4.8 8.3l2.2 2.2 4.2-4.6" />
    </>
  ),
  watch: (
    <>
      <path d="M8 1.2l7 13H1z" />
      <path className="sign" d="M8 6v3.6M8 11.6v.6" />
    </>
  ),
  act: (
    <>
      <path d="M5 1h6l4 4v6l-4 4H5l-4-4V5z" />
      <path className="sign" d="M8 4.2v4.6M8 11v.8" />
    </>
  ),
  unknown: <circle className="hollow" cx="8" cy="8" r="6.2" />,
}

/** A light with its word. Where there is no room, `isShort` leaves the word to screen readers. */
export function Light(props: { kind: LightKind; children: ReactNode; isShort?: boolean }) {
  const { kind, children, isShort = false } = props
  return (
    <span className={`light ${kind}`}>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        {SIGNS[kind]}
      </svg>
      <span className={isShort ? 'unseen' : undefined}>{children}</span>
    </span>
  )
}

export function Conclusion(props: { kind: LightKind; word: string; children: ReactNode }) {
  const { kind, word, children } = props
  return (
    <p className="conclusion">
      <Light kind={kind} isShort>
        {word}
      </Light>
      <span>{children}</span>
    </p>
  )
}

export function VerdictLight({ verdict }: { verdict: Verdict | null }) {
  const [kind, word] =
    verdict === null ? (['unknown', 'Not judged yet'] as const) : VERDICTS[verdict]
  return <Light kind={kind}>{word}</Light>
}

export const ATTENTION_LIGHTS: Readonly<Record<Schemas['Attention'], [LightKind, string]>> = {
  act: ['act', 'Act'],
  watch: ['watch', 'Watch'],
  unknown: ['unknown', 'Not judged'],
  none: ['good', 'Good'],
}
