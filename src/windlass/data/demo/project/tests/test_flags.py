import unittest

from sailing import flags


class Flags(unittest.TestCase):
    def test_somebody_is_in_the_water(self):
        self.assertEqual(flags.meaning("o"), "man overboard")
