import type { Verdict } from '../api/types.ts'

/** Meanings of the lights of the console; each has a colour and a sign of its own. */
export type LightKind = 'good' | 'watch' | 'act' | 'unknown'

export const VERDICTS: Readonly<Record<Verdict, readonly [LightKind, word: string]>> = {
  stable: ['good', 'Stable'],
  moderate_shift: ['watch', 'Moderate shift'],
  major_shift: ['act', 'Major shift'],
  insufficient_data: ['unknown', 'Too few applicants'],
}
