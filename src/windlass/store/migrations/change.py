"""What a migration does to the tables, statement by statement."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.schema import CreateColumn, CreateIndex, CreateTable, DropTable

from windlass.core.ports import Reached


def counted(name: str) -> sa.Column[int]:
    """A key that the database counts up; SQLite does so only for its own kind of integer."""
    kind = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    return sa.Column(name, kind, primary_key=True, autoincrement=True)


class SchemaChange:
    """One migration in its transaction. After each statement the process may die, under test.

    Until schema 5 migrations were in no transaction. One that was killed left empty tables and new
    columns behind, which a migration finds when it is begun again: the tables are made anew, the
    columns are as they should be.
    """

    def __init__(self, connection: sa.Connection, number: int, reached: Reached) -> None:
        self._connection = connection
        self._number = number
        self._reached = reached

    def add_table(self, table: sa.Table) -> None:
        """Makes a table, then its indexes."""
        if self._left_empty(table):
            self._connection.execute(DropTable(table))
        self._connection.execute(CreateTable(table))
        self.reached(f"table.{table.name}")
        for index in sorted(table.indexes, key=lambda index: str(index.name)):
            self._connection.execute(CreateIndex(index))
            self.reached(f"index.{index.name}")

    def add_column(self, table: str, column: sa.Column[Any]) -> None:
        """Adds a column to a table that is there already."""
        if not self._has_column(table, column.name):
            made = CreateColumn(column).compile(dialect=self._connection.dialect)
            self._connection.exec_driver_sql(f"ALTER TABLE {table} ADD COLUMN {made}")
        self.reached(f"column.{table}.{column.name}")

    def widen(self, table: str, column: str, kind: str) -> None:
        """Lets a text column hold more; SQLite has never minded how long one is."""
        if self._connection.dialect.name != "sqlite":
            statement = f"ALTER TABLE {table} ALTER COLUMN {column} TYPE {kind}"
            self._connection.exec_driver_sql(statement)
        self.reached(f"wider.{table}.{column}")

    def execute(self, name: str, statement: str | sa.Update) -> None:
        """Executes any other statement; one that is text is in words that both databases know."""
        if isinstance(statement, str):
            self._connection.exec_driver_sql(statement)
        else:
            self._connection.execute(statement)
        self.reached(name)

    def reached(self, name: str) -> None:
        """Tells the failpoints that this much of the migration is done."""
        self._reached(f"migration.{self._number:03}.{name}")

    def _left_empty(self, table: sa.Table) -> bool:
        if not sa.inspect(self._connection).has_table(table.name):
            return False
        anything = sa.select(sa.literal(1)).select_from(table).limit(1)
        return self._connection.execute(anything).first() is None

    def _has_column(self, table: str, name: str) -> bool:
        columns = sa.inspect(self._connection).get_columns(table)
        return name in {column["name"] for column in columns}
