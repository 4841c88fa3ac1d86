import type { components } from '../../../../clients/typescript/src/openapi.ts'

export type Schemas = components['schemas']
export type Role = Schemas['MemberRole']
export type Environment = Schemas['Environment']
export type Verdict = Schemas['Verdict']
