import { Link } from '../../../design/route.ts';
import { type Column, Table } from '../../../design/table.tsx';
import { useContents } from '../../contents.ts';
import { PROBLEMS, type ProblemEntry } from '../../entries.ts';

const COLUMNS: readonly Column<ProblemEntry>[] = [
  { key: 'status', title: 'Status', kind: 'number', cell: ({ status }) => status },
  {
    key: 'code',
    title: 'Code',
    cell: ({ code }) => (
      <Link to={PROBLEMS + code} query={{}}>
        <code>{code}</code>
      </Link>
    ),
  },
  { key: 'title', title: 'Meaning', grows: true, hides: 'narrow', cell: ({ title }) => title },
];

/** Problem codes with their statuses, each a link to its page. */
export function ProblemTable({ codes }: { readonly codes: readonly string[] }) {
  const { problems } = useContents();
  return (
    <Table
      label="Problems"
      columns={COLUMNS}
      rows={problems.filter(({ code }) => codes.includes(code))}
      rowKey={({ code }) => code}
    />
  );
}
