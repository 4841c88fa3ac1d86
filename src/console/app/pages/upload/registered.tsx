import { Link } from '@tanstack/react-router'
import { useModel } from '../../api/deployments.ts'
import type { Schemas } from '../../api/types.ts'
import { gatherNotes } from '../../ui/card.ts'
import { Copy } from '../../ui/facts.tsx'
import { whole } from '../../ui/figures.ts'
import { withVersion } from '../../ui/names.ts'
import { Notice } from '../../ui/states.tsx'

/** A sample may have a fault in each row. */
const NOTES_MAX = 100

interface NotesProps {
  readonly notes: readonly Schemas['ImportNote'][]
  readonly writeLabel?: (path: string) => string
}

export function NoteList({ notes, writeLabel = (path) => path }: NotesProps) {
  const more = notes.length - NOTES_MAX
  return (
    <ul>
      {notes.slice(0, NOTES_MAX).map(({ path, message }) => (
        <li key={`${path} ${message}`}>
          <strong>{writeLabel(path)}</strong>: {message.replaceAll('`', '')}
        </li>
      ))}
      {more > 0 && <li>… and {whole(more)} more</li>}
    </ul>
  )
}

/** @param leave closes the dialog that shows it, which another model of the same page would keep */
export function Registered(props: { result: Schemas['DeployResult']; leave?: () => void }) {
  const { result, leave } = props
  const { deployment, spec_warnings: warnings = [] } = result
  const model = useModel(result.model_id)
  return (
    <Notice kind="good">
      <p>
        <strong>
          <bdi>{withVersion(result.name, result.version)}</bdi>
        </strong>{' '}
        is registered{deployment === null ? '.' : ' and answers.'}
      </p>
      <p>
        <Link to={`/models/${result.model_id}` as string} onClick={leave}>
          See the model
        </Link>
        {deployment && (
          <>
            {' · '}
            <Link to={`/deployments/${deployment.slug}` as string}>See the deployment</Link>
            {' · '}
            <Link to={`/deployments/${deployment.slug}/try` as string}>Try it</Link>
          </>
        )}
      </p>
      {deployment && (
        <p>
          <code>{deployment.endpoint}</code>{' '}
          <Copy text={deployment.endpoint} label="Copy the address" />
        </p>
      )}
      {warnings.length > 0 && (
        <>
          <p>Worth a look:</p>
          <NoteList notes={gatherNotes(warnings, model.data?.spec)} />
        </>
      )}
    </Notice>
  )
}
