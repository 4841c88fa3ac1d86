import { readFileSync } from 'node:fs'

/** One applicant of the sample, with the score and points that the modeling library gave. */
export interface DemoApplicant {
  readonly id: string
  readonly applicant: Readonly<Record<string, string | number>>
  readonly score: number
  readonly contributions: Readonly<Record<string, number>>
}

const SAMPLE = new URL('./german-credit/', import.meta.url)

export function readSample<T>(file: string): T {
  return JSON.parse(readFileSync(new URL(file, SAMPLE), 'utf8')) as T
}
